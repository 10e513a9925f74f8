export { NoControlServerError, RuntimeClosedError } from './launch-errors.ts';
export { standalone, type StandaloneOptions } from './options.ts';
export { PASSED_ON } from './server-environment.ts';
export { ServerStartError } from './server-start-error.ts';
