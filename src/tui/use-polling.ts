import { type Dispatch, useEffect, useRef } from 'react';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import type { LoggedRequest } from '../store/requests/request-log.ts';
import type { Source } from './source.ts';
import { type Action, detailId, type State } from './state/state.ts';

const POLL_MS = 1_000;
const DAEMON_POLL_MS = 3_000;
const MINUTE_MS = 60_000;

/** Keeps the state up to date. Reads only after a write, and at the start of each minute. */
export function usePolling(state: State, dispatch: Dispatch<Action>, source: Source, clock: Clock): void {
  const { window, filter, paused } = state;
  const readMinute = useRef(-1);

  useEffect(() => {
    if (paused) return;
    // A new window or filter, or the end of a pause, takes effect at once.
    readMinute.current = -1;
    return repeat(clock, POLL_MS, () => {
      const now = clock.now();
      const minute = Math.floor(now / MINUTE_MS);
      try {
        const changed = source.changed();
        if (!changed && minute === readMinute.current) return;
        readMinute.current = minute;
        dispatch({ type: 'data', data: source.read({ window, filter, now }) });
      } catch (error) {
        readMinute.current = -1;
        dispatch({ type: 'problem', message: `cannot read the database: ${messageOf(error)}` });
      }
    });
  }, [window, filter, paused, dispatch, source, clock]);

  useEffect(() => {
    let isPending = false;
    return repeat(clock, DAEMON_POLL_MS, () => {
      if (isPending) return;
      isPending = true;
      void source.daemon().then((daemon) => {
        isPending = false;
        dispatch({ type: 'daemon', daemon, now: clock.now() });
      });
    });
  }, [dispatch, source, clock]);
}

/** Fetches the request that the detail shows. */
export function useDetail(state: State, dispatch: Dispatch<Action>, source: Source): void {
  const id = detailId(state);
  useEffect(() => {
    if (id === null) return;
    let isCurrent = true;
    const show = (detail: LoggedRequest | null) => {
      if (isCurrent) dispatch({ type: 'detail', detail });
    };
    source.request(id).then(
      (request) => show(request ?? null),
      () => show(null),
    );
    return () => {
      isCurrent = false;
    };
  }, [id, dispatch, source]);
}

/** Runs `job` now and after each interval, until the returned function is called. */
function repeat(clock: Clock, intervalMs: number, job: () => void): () => void {
  let cancel = () => {};
  const run = () => {
    cancel = clock.after(intervalMs, run);
    job();
  };
  run();
  return () => cancel();
}
