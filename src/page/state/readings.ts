import { type AnswerOf, ask, type Route } from './ask.ts';

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
  /** Resolves after the first answer. */
  first: Promise<void>;
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

export const knownOf = (key: string) => readings.get(key)?.known ?? NOTHING;

/** Reads all that is shown again, after a change. */
export async function readAgain(): Promise<void> {
  await Promise.all([...readings.values()].map((reading) => reading.read()));
}

type Wanted = [route: Route, input: unknown, isLive: boolean];

/** The key of a reading. With `isLive`, it is read again while it is followed and the page is seen. */
export const keyOf = (route: Route, input: unknown, { isLive = false }: { isLive?: boolean }) =>
  JSON.stringify([route, input ?? null, isLive] satisfies Wanted);

/** Has a listener told of each answer, which ends with the last listener. */
export function follow(key: string, listener: () => void): () => void {
  const reading = readings.get(key) ?? begin(key);
  reading.listeners.add(listener);
  schedule();
  return () => {
    reading.listeners.delete(listener);
    if (reading.listeners.size === 0) readings.delete(key);
  };
}

/** Begins a reading, which is followed later. */
export function begin(key: string): Reading {
  const [route, input, isLive] = JSON.parse(key) as Wanted;
  const reading: Reading = {
    known: NOTHING,
    isReading: false,
    first: Promise.resolve(),
    listeners: new Set(),
    isLive,
    async read() {
      if (reading.isReading) return;
      reading.isReading = true;
      const before = reading.known.data;
      try {
        const data = await ask(route, { ...(input as object | null), ...unlessSame(route, before) } as never);
        reading.known = { data: isSame(data) ? before : data, error: undefined };
      } catch (error) {
        reading.known = { data: before, error: error instanceof Error ? error.message : String(error) };
      }
      reading.isReading = false;
      for (const listener of reading.listeners) listener();
    },
  };
  readings.set(key, reading);
  reading.first = reading.read();
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
  const liveNow = () =>
    [...readings.values()].filter(({ isLive, listeners }) => isLive && listeners.size > 0);
  if (liveNow().length === 0) return;
  timer = setTimeout(async () => {
    const live = liveNow();
    if (!document.hidden) await live[turn++ % live.length]?.read();
    timer = undefined;
    schedule();
  }, TICK_MS);
}

if (typeof document !== 'undefined') document.addEventListener('visibilitychange', schedule);
