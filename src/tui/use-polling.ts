import { type Dispatch, useEffect, useRef } from 'react';
import type { Clock } from '../clock.ts';
import { GwError, messageOf } from '../errors.ts';
import type { RequestView } from '../operations/schemas/requests.ts';
import type { Source } from './source.ts';
import type { AgentView } from './state/agent-view.ts';
import { type Action, detailId, type State } from './state/state.ts';

const POLL_MS = 1_000;
const DAEMON_POLL_MS = 3_000;
const AGENTS_POLL_MS = 60_000;
const MINUTE_MS = 60_000;

/** Polls for changes. Reads only after a write and at the start of each minute. */
export function usePolling(state: State, dispatch: Dispatch<Action>, source: Source, clock: Clock): void {
  const { window, filter, paused } = state;
  const readMinute = useRef(-1);

  useEffect(() => {
    if (paused) return;
    // A new window or filter, and the end of a pause, take effect at once.
    readMinute.current = -1;
    let isCurrent = true;
    let isPending = false;
    const poll = async () => {
      const now = clock.now();
      const minute = Math.floor(now / MINUTE_MS);
      try {
        const changed = source.changed();
        if (!changed && minute === readMinute.current) return;
        readMinute.current = minute;
        const data = await source.read({ window, filter, now });
        if (data && isCurrent) dispatch({ type: 'data', data });
      } catch (error) {
        readMinute.current = -1;
        if (isCurrent) dispatch({ type: 'problem', message: problemOf(error) });
      }
    };
    const stop = repeat(clock, POLL_MS, () => {
      if (isPending) return;
      isPending = true;
      void poll().then(() => {
        isPending = false;
      });
    });
    return () => {
      isCurrent = false;
      stop();
    };
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

  useEffect(() => {
    const show = (agents: readonly AgentView[]) => dispatch({ type: 'agents', agents });
    // Reading the logs takes less than a second. After a failure the old figures stay.
    return repeat(clock, AGENTS_POLL_MS, () => void source.agents().then(show, () => {}));
  }, [dispatch, source, clock]);
}

/** Messages of gw's errors are ready for the user. */
function problemOf(error: unknown): string {
  return error instanceof GwError ? error.message : `cannot read the database: ${messageOf(error)}`;
}

/** Fetches the request of the detail panel. */
export function useDetail(state: State, dispatch: Dispatch<Action>, source: Source): void {
  const id = detailId(state);
  useEffect(() => {
    if (id === null) return;
    let isCurrent = true;
    const show = (detail: RequestView | null) => {
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
export function repeat(clock: Clock, intervalMs: number, job: () => void): () => void {
  let cancel = () => {};
  const run = () => {
    cancel = clock.after(intervalMs, run);
    job();
  };
  run();
  return () => cancel();
}
