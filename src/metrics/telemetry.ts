import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import type { Ledger } from '../store/ledger/ledger.ts';
import type { Log } from './export-watch.ts';

export interface TelemetryOptions {
  /** Address of the collector; if empty, nothing is loaded or sent. */
  endpoint: string;
  instanceId: string;
  ledger: Pick<Ledger, 'onRecords'>;
  clock: Clock;
  log: Log;
}

/** Names the packages to install. gw doesn't include them: they are larger than all its other dependencies. */
const MANUAL = 'docs/metrics/README.md, "OpenTelemetry"';

/** Maximum delay of the shutdown if the collector doesn't answer. */
const FLUSH_MS = 1_000;

/**
 * Exports every record that the ledger commits to an OpenTelemetry collector, if one is set. The returned function
 * flushes and stops. Loads the SDK before it resolves, so that no request waits for it.
 */
export async function startTelemetry(options: TelemetryOptions): Promise<() => Promise<void>> {
  const { endpoint, instanceId, ledger, clock, log } = options;
  if (endpoint === '') return async () => {};
  try {
    const { createExport } = await import('./otlp-export.ts');
    const { observe, shutdown } = createExport({ endpoint, instanceId, clock, log });
    ledger.onRecords((records) => records.forEach(observe));
    return () => within(FLUSH_MS, clock, shutdown());
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
    const reason = isMissing ? `its SDK is not installed. See: ${MANUAL}` : messageOf(error);
    log.warn(`nothing is sent to ${endpoint}: OpenTelemetry could not be loaded: ${reason}`);
    return async () => {};
  }
}

/** Resolves when `work` settles, at the latest after `ms`. */
function within(ms: number, clock: Clock, work: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, resolve);
    const end = () => {
      cancel();
      resolve();
    };
    work.then(end, end);
  });
}
