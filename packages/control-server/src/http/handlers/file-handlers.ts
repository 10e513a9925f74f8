import { ControlError, invalidRequest } from '@holdfast/control-protocol';
import { FileAccessError } from '../../workspace/file-access-error.ts';
import type { Handlers } from '../handler.ts';

/** The files of an instance, for its backend. */
export const fileHandlers: Handlers<'listFiles' | 'readFile'> = {
  listFiles: async ({ instances }, { params, query }) =>
    await answered(instances.get(params.instanceId).workspace.list(query.path)),

  readFile: async ({ instances }, { params, query: { path, offset, limit } }) =>
    await answered(instances.get(params.instanceId).workspace.read(path, { offset, limit })),
};

async function answered<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof FileAccessError ? controlErrorOf(error) : error;
  }
}

function controlErrorOf(error: FileAccessError): ControlError {
  const { code, path, why, message } = error;
  switch (code) {
    case 'outside_roots':
      return new ControlError('path_outside_roots', message);
    case 'not_found':
      return new ControlError('file_not_found', message);
    case 'wrong_kind':
    case 'too_large':
    case 'not_permitted':
      return invalidRequest('query', [{ path: ['path'], message: `${path}: ${why}` }]);
  }
}
