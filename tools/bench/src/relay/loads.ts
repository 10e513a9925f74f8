/** What an agent can be told to say again and again. */
const LOADS = {
  'message-200B': { sessionUpdate: 'agent_message_chunk', content: textOf(200) },
  'message-4KB': { sessionUpdate: 'agent_message_chunk', content: textOf(4096) },
  'tool-1KB': {
    sessionUpdate: 'tool_call_update',
    toolCallId: 'call-1',
    status: 'in_progress',
    content: [{ type: 'content', content: textOf(1024) }],
  },
} as const;

export type LoadName = keyof typeof LOADS;

export const LOAD_NAMES = ['message-200B', 'message-4KB', 'tool-1KB'] as const satisfies readonly LoadName[];

/** One flood: so many lines of this load. Its JSON is the text of the prompt. */
export interface Flood {
  readonly load: LoadName;
  readonly count: number;
}

/** The line that an agent writes for one update of this load, with its line end. */
export function floodLine(sessionId: string, load: LoadName): string {
  const params = { sessionId, update: LOADS[load] };
  return `${JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params })}\n`;
}

function textOf(bytes: number): { readonly type: 'text'; readonly text: string } {
  const words = 'so the agent says "this", and then it says that, line after line.\n';
  return { type: 'text', text: words.repeat(Math.ceil(bytes / words.length)).slice(0, bytes) };
}
