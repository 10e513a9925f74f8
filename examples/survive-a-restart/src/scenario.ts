import { script, scriptedAgentCommand } from '@holdfast/scripted-agent';

/** One session of the demo. */
export interface DemoSession {
  readonly name: string;
  /** What it shows, in a few words. */
  readonly shows: string;
  readonly workspace: string;
  readonly prompt: string;
  /** The prompt with which the second backend shows that the session goes on. */
  readonly followUp: string;
  /** The numbered chunks that its agent writes in the first turn; 0 where that cannot be known. */
  readonly chunks: number;
  /** Whether its agent asks for a permission. */
  readonly asks: boolean;
}

/** What both backends of the demo work from. */
export interface Scenario {
  readonly home: string;
  readonly agent: {
    readonly command: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
  };
  readonly sessions: readonly DemoSession[];
  /** Created by the demo when no backend lives: lets the second session's turn end unseen. */
  readonly goFile: string;
  /** Created by the scripted agent right before that turn ends; null with an agent that does not know how. */
  readonly doneFile: string | null;
}

const CHUNKS = 40;

/** Three scripted sessions: one streams, one ends its turn while nobody is attached, one waits for a permission. */
export function scriptedScenario(folder: string): Scenario {
  const goFile = `${folder}/go`;
  const doneFile = `${folder}/done`;
  return {
    home: `${folder}/home`,
    agent: { command: scriptedAgentCommand(), environment: {} },
    goFile,
    doneFile,
    sessions: [
      {
        name: 'stream',
        shows: 'streams a long turn',
        workspace: `${folder}/stream`,
        prompt: script({ step: 'chunks', count: CHUNKS, everyMs: 150 }),
        followUp: 'Are you still there?',
        chunks: CHUNKS,
        asks: false,
      },
      {
        name: 'unseen',
        shows: 'ends its turn while nobody is attached',
        workspace: `${folder}/unseen`,
        prompt: script(
          { step: 'chunks', count: 3 },
          { step: 'waitFor', file: goFile },
          { step: 'say', text: 'finished while no backend was there' },
          { step: 'touch', file: doneFile },
        ),
        followUp: 'Are you still there?',
        chunks: 3,
        asks: false,
      },
      {
        name: 'asking',
        shows: 'waits for a permission',
        workspace: `${folder}/asking`,
        prompt: script(
          { step: 'chunks', count: 3 },
          { step: 'permission', title: 'Delete the build folder' },
        ),
        followUp: 'Are you still there?',
        chunks: 3,
        asks: true,
      },
    ],
  };
}

/** The same with any ACP agent: what it will write cannot be known, all else is checked. */
export function anyAgentScenario(
  folder: string,
  command: string,
  environment: Readonly<Record<string, string>>,
): Scenario {
  const prompts = {
    long: 'Count from 1 to 40, with a short sentence about each number. Use no tools.',
    short: 'Say hello in one sentence. Use no tools.',
    other: 'Name the seven colours of the rainbow. Use no tools.',
  };
  return {
    home: `${folder}/home`,
    agent: { command: ['/bin/sh', '-c', `exec ${command}`], environment },
    goFile: `${folder}/go`,
    doneFile: null,
    sessions: Object.entries(prompts).map(([name, prompt]) => ({
      name,
      shows: prompt,
      workspace: `${folder}/${name}`,
      prompt,
      followUp: 'Thank you. Answer with one word: are you still there?',
      chunks: 0,
      asks: false,
    })),
  };
}
