import { metrics, type Counter as OtelCounter, type MeterProvider } from '@opentelemetry/api';

export type { MeterProvider };

/** The attributes of one count: short words, so that there are few series. */
export type CountAttributes = Readonly<Record<string, string>>;

/** Adds one. */
export type Counter = (attributes: CountAttributes) => void;

const METER = '@holdfast/host';

/** The provider that is registered for the process now; without an SDK it counts nothing. */
export function registeredMeterProvider(): MeterProvider {
  return metrics;
}

/** A counter of the host's meter. */
export function counter(provider: MeterProvider, name: string, description: string): Counter {
  const made: OtelCounter = provider.getMeter(METER).createCounter(name, { description });
  return (attributes) => {
    made.add(1, attributes);
  };
}
