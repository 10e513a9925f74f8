import { stat } from 'node:fs/promises';
import { ControlError, invalidRequest, type CreateInstance } from '@holdfast/control-protocol';
import { Instance } from './instance.ts';
import type { InstanceSurroundings } from './surroundings.ts';

/** The instances of a server, in the order of their creation. */
export class InstanceTable {
  readonly #surroundings: InstanceSurroundings;
  readonly #makeId: () => string;
  readonly #instances = new Map<string, Instance>();

  constructor(surroundings: InstanceSurroundings, makeId: () => string) {
    this.#surroundings = surroundings;
    this.#makeId = makeId;
  }

  get size(): number {
    return this.#instances.size;
  }

  list(): Instance[] {
    return [...this.#instances.values()];
  }

  /** The instance, or the `ControlError` that says there is none. */
  get(instanceId: string): Instance {
    const instance = this.#instances.get(instanceId);
    if (instance === undefined) {
      throw new ControlError('instance_not_found', `There is no instance ${instanceId} on this server.`);
    }
    return instance;
  }

  /** Creates an instance, without an agent. `mayCreate` is asked last and throws to prevent it. */
  async create(created: CreateInstance, mayCreate: () => void): Promise<Instance> {
    const instanceId = created.instanceId ?? this.#makeId();
    if (!(await isDirectory(created.workspacePath))) {
      throw invalidRequest('request body', [
        { path: ['workspacePath'], message: 'must be an existing directory on the machine of the server' },
      ]);
    }
    if (this.#instances.has(instanceId)) {
      throw new ControlError(
        'instance_exists',
        `Instance ${instanceId} exists; use another id or delete it.`,
      );
    }
    mayCreate();
    const instance = new Instance(this.#surroundings, instanceId, created);
    this.#instances.set(instanceId, instance);
    return instance;
  }

  /** Stops an instance and takes it out; it is listed as stopping meanwhile. */
  async remove(instance: Instance): Promise<void> {
    await instance.stop();
    this.#instances.delete(instance.instanceId);
  }

  /** Stops all instances, all at the same time. */
  async removeAll(): Promise<void> {
    await Promise.all(
      this.list().map(async (instance) => {
        await this.remove(instance);
      }),
    );
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}
