export { freePort } from './free-port.ts';
export { garbageServer } from './garbage-server.ts';
export { httpProxy, type HttpProxy, type ProxyTreatment } from './http-proxy.ts';
export { hungServer } from './hung-server.ts';
export type { NpmPackage } from './npm-registry/npm-package.ts';
export {
  npmRegistry,
  type NpmRegistry,
  type RegistryMood,
  type RegistryRequest,
} from './npm-registry/npm-registry.ts';
export { postgresServer, type PostgresServer } from './postgres-server.ts';
export {
  descendants,
  listProcesses,
  processIsAlive,
  processStartTime,
  signalProcess,
  waitForExit,
  waitUntilReaped,
  type ProcessEntry,
} from './processes.ts';
export { requirement, type RequirementName, type RequirementSources } from './requirement.ts';
export {
  ProgramTimeoutError,
  runProgram,
  type ProgramResult,
  type RunProgramOptions,
} from './run-program.ts';
export type { TcpServer } from './tcp-server.ts';
export { LeakedProcessesError, testHome, type TestHome } from './test-home.ts';
export {
  startProgram,
  type LineMatch,
  type NextLineOptions,
  type OutputName,
  type ProgramExit,
  type StartedProgram,
} from './started-program.ts';
export type { ProgramOptions } from './spawn-program.ts';
export { ConditionNotMetError, until, type Truthy, type UntilOptions } from './until.ts';
