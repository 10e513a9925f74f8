import type { CoveredEvent, JsonObject, SessionChoice, StartedAgent } from '@holdfast/control-protocol';
import { isJsonObject } from './acp-message.ts';
import { TO_AGENT } from './acp-methods.ts';

/** What a provider session has of modes, models and options, as the agent told last. */
export type SessionState = Pick<StartedAgent['session'], 'modes' | 'models' | 'configOptions'>;

/** The request that makes a choice; the session's id goes with it. */
export interface ChoiceRequest {
  readonly method: string;
  readonly params: JsonObject;
}

interface Confirmed {
  readonly state: SessionState;
  readonly events: readonly CoveredEvent[];
}

/**
 * The request that makes a choice. Agents offer modes and models as lists of their own, with a method for each, or as options
 * of that category; one that offers neither may know the method all the same, and is asked.
 */
export function choiceRequest(state: SessionState, choice: SessionChoice): ChoiceRequest {
  const way = wayOf(state, choice);
  switch (way.kind) {
    case 'mode':
      return { method: TO_AGENT.setMode, params: { modeId: way.modeId } };
    case 'model':
      return { method: TO_AGENT.setModel, params: { modelId: way.modelId } };
    case 'config_option': {
      const { optionId, value } = way;
      // ACP tells booleans from ids of values by their type; ids have none.
      const type = typeof value === 'boolean' ? { type: 'boolean' } : {};
      return { method: TO_AGENT.setConfigOption, params: { configId: optionId, ...type, value } };
    }
  }
}

/** What follows when the agent has answered {@link choiceRequest} with a result. */
export function confirmChoice(state: SessionState, choice: SessionChoice, result: unknown): Confirmed {
  const way = wayOf(state, choice);
  switch (way.kind) {
    case 'mode':
      // Events tell of modes in the agent's own words only, `current_mode_update`.
      return { state: { ...state, modes: { ...state.modes, currentModeId: way.modeId } }, events: [] };
    case 'model': {
      const after = { ...state, models: { ...state.models, currentModelId: way.modelId } };
      return { state: after, events: modelEvents(after) };
    }
    case 'config_option': {
      const { optionId, value } = way;
      const options = isJsonObject(result) ? readConfigOptions(result['configOptions']) : null;
      const after = { ...state, configOptions: options ?? withValue(state.configOptions, optionId, value) };
      const changed: CoveredEvent = { type: 'session_config_changed', optionId, value };
      const confirmed: CoveredEvent[] = options === null ? [] : [{ type: 'session_config', options }];
      const isModel = ofCategory(state.configOptions, 'model')?.['id'] === optionId;
      return { state: after, events: [changed, ...confirmed, ...(isModel ? modelEvents(after) : [])] };
    }
  }
}

/** What an update that came from the agent itself changes, and whether the model is another one now. */
export function noticeUpdate(state: SessionState, update: JsonObject): Confirmed {
  if (update['sessionUpdate'] === 'current_mode_update') {
    const modes = { ...state.modes, currentModeId: update['currentModeId'] };
    return { state: state.modes === null ? state : { ...state, modes }, events: [] };
  }
  const options =
    update['sessionUpdate'] === 'config_option_update' ? readConfigOptions(update['configOptions']) : null;
  if (options === null) return { state, events: [] };
  const after = { ...state, configOptions: options };
  const before = ofCategory(state.configOptions, 'model')?.['currentValue'];
  const isSame = before === undefined || before === ofCategory(options, 'model')?.['currentValue'];
  return { state: after, events: isSame ? [] : modelEvents(after) };
}

/** A list of options as the agent gave it, or null when it is none. */
export function readConfigOptions(value: unknown): JsonObject[] | null {
  return Array.isArray(value) && value.every(isJsonObject) ? value : null;
}

/** The choice as the agent takes it: where it has no list of its own for modes or models, as an option. */
function wayOf({ modes, models, configOptions }: SessionState, choice: SessionChoice): SessionChoice {
  if (choice.kind === 'config_option' || (choice.kind === 'mode' ? modes : models) !== null) return choice;
  const optionId = ofCategory(configOptions, choice.kind)?.['id'];
  if (typeof optionId !== 'string') return choice;
  return {
    kind: 'config_option',
    optionId,
    value: choice.kind === 'mode' ? choice.modeId : choice.modelId,
  };
}

function ofCategory(options: readonly JsonObject[] | null, category: string): JsonObject | undefined {
  return options?.find((option) => option['category'] === category);
}

function withValue(
  options: readonly JsonObject[] | null,
  optionId: string,
  value: string | boolean,
): JsonObject[] | null {
  if (options === null) return null;
  return options.map((option) => (option['id'] === optionId ? { ...option, currentValue: value } : option));
}

/** The current model and the offered ones, the agent's own objects; nothing when it has told of no model. */
function modelEvents({ models, configOptions }: SessionState): CoveredEvent[] {
  const option = ofCategory(configOptions, 'model');
  const currentModelId = models === null ? option?.['currentValue'] : models['currentModelId'];
  if (typeof currentModelId !== 'string') return [];
  const offered = models === null ? valuesOf(option) : models['availableModels'];
  return [{ type: 'session_model', currentModelId, availableModels: readConfigOptions(offered) ?? [] }];
}

/** The values of a select option; those in groups as well. */
function valuesOf(option: JsonObject | undefined): readonly unknown[] {
  return listOf(option?.['options']).flatMap((entry) =>
    isJsonObject(entry) && Array.isArray(entry['options']) ? listOf(entry['options']) : [entry],
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
