import { z } from 'zod';
import { Id, SequenceNumber } from '../identifiers/id.ts';
import { InstanceEvent, SequencedEvent } from './event.ts';

/** What a control server sends on an instance's event stream. `attached` comes first, once. */
export const StreamMessage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('attached'),
    instanceId: Id,
    /** The sequence number that the next new event will get. */
    nextSeq: SequenceNumber,
    /** The first sequence number that this stream delivers. */
    replayFrom: SequenceNumber,
  }),
  z.object({ type: z.literal('events'), events: z.array(SequencedEvent) }),
  z.object({ type: z.literal('lossy'), event: InstanceEvent }),
]);
export type StreamMessage = z.infer<typeof StreamMessage>;

/** What a backend sends on it: everything up to `seq` is durably stored (BEYOND-02). */
export const StreamRequest = z.strictObject({ type: z.literal('ack'), seq: SequenceNumber });
export type StreamRequest = z.infer<typeof StreamRequest>;

/** Why a control server closed a stream. */
export const STREAM_CLOSE = {
  /** A newer stream of the same instance took its place. */
  replaced: 4001,
  /** Its credential was superseded by an adoption (OWNERSHIP-002.2). */
  superseded: 4002,
  /** The peer broke the protocol, e.g. acknowledged what was never sent. */
  protocolViolation: 4003,
  instanceStopped: 4004,
  serverStopping: 4005,
} as const;

/** The largest frame, and the largest line of an agent, in bytes. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** How many unacknowledged events may be in flight on an attached stream; beyond it the producer waits. */
export const STREAM_WINDOW_EVENTS = 1000;
