import type { Clock } from '../../clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Archive } from './archive.ts';

export interface ArchiverOptions {
  ledger: Pick<Ledger, 'onCommit' | 'writeApart'>;
  archive: Pick<Archive, 'takeOver'>;
  clock: Clock;
  onError: (error: unknown) => void;
}

/** How long ended requests wait to be archived together. */
const EVERY_MS = 1_000;
/** The pause between two batches lets requests run. */
const PAUSE_MS = 10;

/** Archives ended requests a second after a commit, off the requests' own way, until the returned function is called. */
export function startArchiver(options: ArchiverOptions): () => Promise<void> {
  const { ledger, clock, onError } = options;
  let isStopped = false;
  let isRunning = false;
  let cancel: (() => void) | undefined;
  let running: Promise<void> = Promise.resolve();

  function schedule(ms: number): void {
    cancel ??= clock.after(ms, () => {
      cancel = undefined;
      running = run();
    });
  }

  async function run(): Promise<void> {
    isRunning = true;
    const isMore = await takeOver(options).catch((error) => {
      onError(error);
      return false;
    });
    isRunning = false;
    if (isMore && !isStopped) schedule(PAUSE_MS);
  }

  ledger.onCommit(() => {
    // Its own commit leads to no other.
    if (!isRunning && !isStopped) schedule(EVERY_MS);
  });
  return () => {
    isStopped = true;
    cancel?.();
    return running;
  };
}

/** Archives all requests that have ended. */
export async function archiveAll(options: Omit<ArchiverOptions, 'onError'>): Promise<void> {
  while (await takeOver(options));
}

function takeOver({ ledger, archive, clock }: Omit<ArchiverOptions, 'onError'>): Promise<boolean> {
  return ledger.writeApart(() => archive.takeOver(clock.now()));
}
