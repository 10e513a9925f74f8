import { FieldError } from './field-checks.ts';
import { RpcError } from './json-rpc.ts';
import type { StartBehaviour } from './start-behaviour.ts';

const MODES = [
  { id: 'ask', name: 'Ask for permission' },
  { id: 'auto', name: 'Allow without asking' },
] as const;

const MODELS = ['small', 'large'] as const;
const EFFORTS = ['low', 'high'] as const;

/** What is chosen in a session: what was never chosen stands at the first. A session that is opened again has none of it. */
export class Choices {
  readonly #behaviour: Pick<StartBehaviour, 'models' | 'configOptions'>;
  mode: 'ask' | 'auto' = 'ask';
  #model: string = MODELS[0];
  #effort: string = EFFORTS[0];
  #verbose = false;

  constructor(behaviour: Pick<StartBehaviour, 'models' | 'configOptions'>) {
    this.#behaviour = behaviour;
  }

  /** As it goes into the answer to the request that opened the session. */
  offered(): object {
    const options = this.options();
    return {
      modes: { currentModeId: this.mode, availableModes: MODES },
      ...(this.#behaviour.models === 'list'
        ? { models: { currentModelId: this.#model, availableModels: MODELS.map(model) } }
        : {}),
      ...(options.length > 0 ? { configOptions: options } : {}),
    };
  }

  /** What a script is told of them. */
  chosen(): object {
    const { models, configOptions } = this.#behaviour;
    return {
      mode: this.mode,
      ...(models === undefined ? {} : { model: this.#model }),
      ...(configOptions === true ? { effort: this.#effort, verbose: this.#verbose } : {}),
    };
  }

  setMode(modeId: unknown): object {
    const mode = MODES.find(({ id }) => id === modeId);
    if (mode === undefined) throw new FieldError('The field "modeId" must be "ask" or "auto".');
    this.mode = mode.id;
    return {};
  }

  setModel(modelId: unknown): object {
    if (this.#behaviour.models !== 'list') throw new RpcError(-32601, 'The scripted agent has no models.');
    this.#model = oneOf(MODELS, modelId, 'modelId');
    return {};
  }

  setOption({ configId, type, value }: Readonly<Record<string, unknown>>): object {
    const known = this.options().map(({ id }) => id);
    if (known.length === 0) throw new RpcError(-32601, 'The scripted agent has no configuration options.');
    if (configId === 'model' && known.includes('model')) this.#model = oneOf(MODELS, value, 'value');
    else if (configId === 'effort') this.#effort = oneOf(EFFORTS, value, 'value');
    else if (configId === 'verbose' && type === 'boolean' && typeof value === 'boolean')
      this.#verbose = value;
    else throw new FieldError(`The field "configId" must be one of ${known.join(', ')}, with a value of it.`);
    return { configOptions: this.options() };
  }

  /** The configuration options with their current values, as ACP shows them. */
  options(): ReadonlyArray<{ readonly id: string; readonly [field: string]: unknown }> {
    const { models, configOptions } = this.#behaviour;
    return [
      ...(models === 'option' ? [select('model', 'model', MODELS, this.#model)] : []),
      ...(configOptions === true
        ? [
            select('effort', 'thought_level', EFFORTS, this.#effort),
            { id: 'verbose', name: 'verbose', type: 'boolean', currentValue: this.#verbose },
          ]
        : []),
    ];
  }
}

function select(id: string, category: string, values: readonly string[], currentValue: string) {
  const options = values.map((value) => ({ value, name: value }));
  return { id, name: id, category, type: 'select', currentValue, options };
}

function model(id: string): object {
  return { modelId: id, name: `The ${id} one` };
}

function oneOf(values: readonly string[], value: unknown, field: string): string {
  const found = values.find((known) => known === value);
  if (found === undefined) throw new FieldError(`The field "${field}" must be one of ${values.join(', ')}.`);
  return found;
}
