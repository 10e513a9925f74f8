export { NoAnswerError, UnreadableAnswerError } from './client-errors.ts';
export {
  ControlClient,
  type CallOptions,
  type ControlClientOptions,
  type InputOf,
} from './control-client.ts';
export { EventStream, type Attached, type StreamDelivery, type StreamEnd } from './event-stream.ts';
