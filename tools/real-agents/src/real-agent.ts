import type { AgentPackage } from './install-agent.ts';
import type { MockModel } from './mock-model/mock-model.ts';

/** How to start an agent. */
export interface AgentSetup {
  readonly command: readonly string[];
  /** Laid over the small environment that agents get anyway. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What an agent is set up in. */
export interface AgentSurroundings {
  /** The path of its installed command. */
  readonly program: string;
  /** An empty folder for its homes. */
  readonly folder: string;
  /** Its model, and the proxy that lets it reach nothing else. */
  readonly model: MockModel;
}

/** A coding agent as its makers publish it. */
export interface RealAgent {
  readonly package: AgentPackage;
  /** The tool that runs a shell command; the agent is set up to ask before it does. */
  readonly shellTool: string;
  /** A mode that it does not start in. */
  readonly otherMode: string;
  /** What it says, as its own words in the conversation, when that mode is set. */
  readonly saysOfMode: string;
  /** What it looks for outside in spite of all settings, as the endpoint notes it. */
  readonly looksFor: readonly RegExp[];
  setUp(surroundings: AgentSurroundings): Promise<AgentSetup>;
  /** Resolves when a conversation that it has begun by now can be loaded by another process. */
  loadable(): Promise<void>;
  /** How many turns it has finished, as it keeps them itself in the folder of its homes. */
  finishedTurns(folder: string): Promise<number>;
}
