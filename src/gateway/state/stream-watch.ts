import type { Clock } from '../../clock.ts';
import type { NotedStream } from '../../store/dashboard/stream-notes.ts';
import type { CallProgress, RunningCalls } from './access/running-calls.ts';

/** More than a screen has room for. */
const MOST_NOTED = 50;
const NOTE_MS = 1_000;
/** How often it is looked for dashboards while none is open. */
const LOOK_MS = 5_000;

interface StreamWatchOptions {
  calls: Pick<RunningCalls, 'progress'>;
  clock: Clock;
  /** Whether a dashboard is open. */
  isWatched: () => boolean;
  note: (streams: NotedStream[]) => void;
}

/** Notes each second what running streams have brought, while a dashboard is open. Returns a function that stops it. */
export function startStreamWatch({ calls, clock, isWatched, note }: StreamWatchOptions): () => void {
  let before = new Map<number, CallProgress>();
  let beforeAt = 0;
  let cancel = () => {};

  function look(): void {
    const watched = isWatched();
    const hadAny = before.size > 0;
    const streams = watched ? read() : [];
    if (!watched) before = new Map();
    if (streams.length > 0 || hadAny) note(streams);
    cancel = clock.after(watched ? NOTE_MS : LOOK_MS, look);
  }

  function read(): NotedStream[] {
    const at = clock.monotonic();
    const seconds = (at - beforeAt) / 1_000;
    const current = calls.progress(MOST_NOTED);
    const streams = current.map(({ id, outputTokens, usedNanoUsd }) => {
      const last = before.get(id);
      const tokensPerSecond = last ? (outputTokens - last.outputTokens) / seconds : 0;
      return { id, outputTokens, usedNanoUsd, tokensPerSecond: Math.max(0, Math.round(tokensPerSecond)) };
    });
    before = new Map(current.map((each) => [each.id, each]));
    beforeAt = at;
    return streams;
  }

  cancel = clock.after(LOOK_MS, look);
  return () => cancel();
}
