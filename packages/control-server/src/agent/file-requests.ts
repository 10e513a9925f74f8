import type { JsonObject } from '@holdfast/control-protocol';
import { FileAccessError } from '../workspace/file-access-error.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { isJsonObject, type RpcAnswer, type RpcError } from './acp-message.ts';
import { FROM_AGENT, RPC_ERROR } from './acp-methods.ts';

/** The files that an agent may ask for; all of it rejects with `FileAccessError`. */
export type AgentFiles = Pick<Workspace, 'readText' | 'writeText'>;

/** Whether a request of an agent is about a file. */
export function isFileRequest(method: string): boolean {
  return method === FROM_AGENT.readTextFile || method === FROM_AGENT.writeTextFile;
}

/** Carries out a file request of an agent, within the source roots of its instance. Never rejects. */
export async function answerFileRequest(
  files: AgentFiles,
  method: string,
  params: unknown,
): Promise<RpcAnswer> {
  try {
    const fields = isJsonObject(params) ? params : {};
    const result =
      method === FROM_AGENT.readTextFile ? await read(files, fields) : await write(files, fields);
    return result === null
      ? failed(RPC_ERROR.invalidParams, SHAPES[method] ?? '')
      : { kind: 'result', result };
  } catch (error) {
    if (!(error instanceof FileAccessError)) return failed(RPC_ERROR.internal, 'The file system failed.');
    return failed(
      error.code === 'not_found' ? RPC_ERROR.resourceNotFound : RPC_ERROR.invalidParams,
      error.message,
    );
  }
}

const SHAPES: Readonly<Record<string, string>> = {
  [FROM_AGENT.readTextFile]: 'A read needs a path, and may have a line from 1 on and a limit from 0 on.',
  [FROM_AGENT.writeTextFile]: 'A write needs a path and the content.',
};

/** Null when the request is not of the shape. */
async function read(files: AgentFiles, { path, line, limit }: JsonObject): Promise<JsonObject | null> {
  if (!isPath(path) || !isCount(line, 1) || !isCount(limit, 0)) return null;
  const content = await files.readText(path, { first: line ?? 1, count: limit ?? Number.MAX_SAFE_INTEGER });
  return { content };
}

async function write(files: AgentFiles, { path, content }: JsonObject): Promise<JsonObject | null> {
  if (!isPath(path) || typeof content !== 'string') return null;
  await files.writeText(path, content);
  return {};
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('\0');
}

function isCount(value: unknown, least: number): value is number | null | undefined {
  return value === undefined || value === null || (Number.isSafeInteger(value) && Number(value) >= least);
}

function failed(code: number, message: string): { readonly kind: 'error'; readonly error: RpcError } {
  return { kind: 'error', error: { code, message } };
}
