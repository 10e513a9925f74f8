import type { Step } from './steps.ts';

/** The prompt text that makes the scripted agent do these steps, in this order, and then end its turn. */
export function script(...steps: Step[]): string {
  return `script: ${JSON.stringify({ steps })}`;
}
