import { checkFields, FieldError, isObject, type FieldChecks } from './field-checks.ts';
import type { Step, StepName, StepOf } from './steps.ts';

const STEPS: { readonly [N in StepName]: FieldChecks<StepOf<N>> } = {
  say: { step: 'text', text: 'text' },
  chunks: { step: 'text', count: 'count', bytes: 'count?', everyMs: 'count?', text: 'text?' },
  flood: { step: 'text', count: 'count', bytes: 'count' },
  thought: { step: 'text', text: 'text' },
  toolCall: { step: 'text', title: 'text', kind: 'text?', statuses: 'texts?', everyMs: 'count?' },
  permission: { step: 'text', title: 'text', options: 'list?', withdrawAfterMs: 'count?' },
  request: { step: 'text', method: 'text', params: 'anything?' },
  delay: { step: 'text', ms: 'count' },
  waitFor: { step: 'text', file: 'text' },
  touch: { step: 'text', file: 'text', content: 'text?' },
  silence: { step: 'text' },
  crash: { step: 'text', exitCode: 'count?', signal: 'text?' },
  refuse: { step: 'text' },
  fail: { step: 'text', code: 'number', message: 'text' },
  end: { step: 'text', stopReason: 'text' },
  late: { step: 'text', afterMs: 'count', text: 'text' },
  afterwards: { step: 'text', afterMs: 'count?', steps: 'list', saysIdle: 'flag?' },
  usage: { step: 'text', used: 'count', size: 'count' },
  rawLine: { step: 'text', line: 'text', dots: 'count?', ended: 'flag?' },
  unknownUpdate: { step: 'text', update: 'object' },
  stderr: { step: 'text', text: 'text' },
  child: { step: 'text', command: 'texts', ownSession: 'flag?', ownOutput: 'flag?' },
  choices: { step: 'text' },
  memory: { step: 'text', bytes: 'count' },
  closeOutput: { step: 'text' },
  closeInput: { step: 'text' },
  environment: { step: 'text', name: 'text' },
  ignoreSigterm: { step: 'text' },
  ignoreCancel: { step: 'text' },
};

/**
 * The steps that ride in a prompt: the JSON after `script: ` at the start of a line, up to the end of the text.
 * `undefined` when there is none. Throws `FieldError` when there is one that cannot be followed.
 */
export function readScript(promptText: string): readonly Step[] | undefined {
  const json = /^script: (.*)$/ms.exec(promptText)?.[1];
  if (json === undefined) return undefined;
  const { steps } = checkFields<{ steps: readonly unknown[] }>('The script', parse(json), { steps: 'list' });
  return steps.map((step, index) => readStep(step, index + 1));
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new FieldError(
      `The script is not JSON: ${error instanceof Error ? error.message : String(error)}.`,
    );
  }
}

function readStep(value: unknown, number: number): Step {
  const name = isObject(value) ? value['step'] : undefined;
  if (!isStepName(name)) {
    throw new FieldError(
      `Step ${String(number)} must be an object whose field "step" is one of ${Object.keys(STEPS).join(', ')}.`,
    );
  }
  const step = checkFields<Step>(`Step ${String(number)} (${name})`, value, STEPS[name]);
  if (step.step !== 'afterwards') return step;
  return { ...step, steps: step.steps.map((inner, index) => readStep(inner, index + 1)) };
}

function isStepName(name: unknown): name is StepName {
  return typeof name === 'string' && Object.hasOwn(STEPS, name);
}
