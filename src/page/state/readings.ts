import { useCallback, useEffect, useRef, useSyncExternalStore } from 'react';
import { type AnswerOf, ask, type InputOf, type Route } from './ask.ts';

/** What is known of an answer. While a new one comes, the one before stays. */
export interface Known<Answer> {
  data: Answer | undefined;
  /** In gw's words; undefined if the last reading worked. */
  error: string | undefined;
}

interface Reading {
  known: Known<unknown>;
  read(): Promise<void>;
  isReading: boolean;
  /** Of those that show it; the reading ends with the last. */
  listeners: Set<() => void>;
  isLive: boolean;
}

const NOTHING: Known<never> = { data: undefined, error: undefined };
/** Between two readings of what is live, of all together. */
const TICK_MS = 1_000;

const readings = new Map<string, Reading>();
let timer: ReturnType<typeof setTimeout> | undefined;
let turn = 0;

/**
 * The answer of a reading operation. With `isLive`, it is read again while the page is visible, in turn with the others,
 * at most one request a second in all.
 */
export function useReading<Each extends Route>(
  route: Each,
  input: InputOf<Each>,
  { isLive = false }: { isLive?: boolean } = {},
): Known<AnswerOf<Each>> {
  const key = JSON.stringify({ route, input, isLive });
  const subscribe = useCallback((listener: () => void) => follow(key, listener), [key]);
  const known = useSyncExternalStore(subscribe, () => knownOf(key)) as Known<AnswerOf<Each>>;
  const latest = useRef<AnswerOf<Each>>(undefined);
  useEffect(() => {
    if (known.data !== undefined) latest.current = known.data;
  }, [known]);
  return known.data === undefined ? { ...known, data: latest.current } : known;
}

const knownOf = (key: string) => readings.get(key)?.known ?? NOTHING;

/** Reads all that is shown again, after a change. */
export async function readAgain(): Promise<void> {
  await Promise.all([...readings.values()].map((reading) => reading.read()));
}

/** A key of `readings`, as JSON. */
interface Wanted {
  route: Route;
  input: object | undefined;
  isLive: boolean;
}

function follow(key: string, listener: () => void): () => void {
  const reading = readings.get(key) ?? begin(key);
  reading.listeners.add(listener);
  schedule();
  return () => {
    reading.listeners.delete(listener);
    if (reading.listeners.size === 0) readings.delete(key);
  };
}

function begin(key: string): Reading {
  const { route, input, isLive } = JSON.parse(key) as Wanted;
  const reading: Reading = {
    known: NOTHING,
    isReading: false,
    listeners: new Set(),
    isLive,
    async read() {
      if (reading.isReading) return;
      reading.isReading = true;
      const before = reading.known.data;
      try {
        const data = await ask(route, { ...input, ...unlessSame(route, before) } as never);
        reading.known = { data: isSame(data) ? before : data, error: undefined };
      } catch (error) {
        reading.known = { data: before, error: error instanceof Error ? error.message : String(error) };
      }
      reading.isReading = false;
      for (const listener of reading.listeners) listener();
    },
  };
  readings.set(key, reading);
  void reading.read();
  return reading;
}

/** The dashboard is sent only if it has changed. */
function unlessSame(route: Route, before: unknown): object {
  if (route !== 'GET /v1/gw/dashboard' || before === undefined) return {};
  return { unless: (before as AnswerOf<'GET /v1/gw/dashboard'>).version };
}

function isSame(answer: unknown): boolean {
  const { object, data } = answer as { object?: string; data?: unknown };
  return object === 'dashboard' && data === null;
}

/** Sets the timer of the next live reading, if the page is visible and shows one. */
function schedule(): void {
  if (timer !== undefined || document.hidden) return;
  if (![...readings.values()].some(({ isLive }) => isLive)) return;
  timer = setTimeout(async () => {
    const live = [...readings.values()].filter(({ isLive }) => isLive);
    if (!document.hidden) await live[turn++ % live.length]?.read();
    timer = undefined;
    schedule();
  }, TICK_MS);
}

if (typeof document !== 'undefined') document.addEventListener('visibilitychange', schedule);
