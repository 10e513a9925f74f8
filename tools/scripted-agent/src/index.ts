export { idleAgentCommand, scriptedAgentCommand } from './command.ts';
export { script } from './script.ts';
export { startBehaviour, type StartBehaviour } from './start-behaviour.ts';
export type { Step, StepName, StepOf } from './steps.ts';
