import type { Clock } from '../../clock.ts';
import { createStickiness, type SavedPin, type Stickiness } from '../../routing/stickiness.ts';

/** Where conversations were served last, and who made which stored response. */
export interface AffinityStore {
  /** Which target each conversation was served by. */
  stickiness: Stickiness;
  /** Which target made each stored response, by its id. */
  responses: Stickiness;
  /** The latest of them, to be kept over a restart; undefined where nothing came to them since the last time. */
  conversationsToSave(): AffinitySnapshot | undefined;
}

export interface AffinitySnapshot {
  /** UTC milliseconds. */
  savedAtMs: number;
  stickiness: SavedPin[];
  responses: SavedPin[];
}

/** So long OpenAI keeps responses: https://platform.openai.com/docs/guides/conversation-state */
const RESPONSES_MS = 30 * 86_400_000;
/** To write so many takes a millisecond. */
const MOST_SAVED = 500;

/** `known` is what an earlier run knew, as it was stored. */
export function createAffinityStore(clock: Pick<Clock, 'monotonic' | 'now'>, known: unknown): AffinityStore {
  const saved = known as Partial<AffinitySnapshot> | undefined;
  // A clock that was set back must not make them younger.
  const passedMs = Math.max(0, clock.now() - Number(saved?.savedAtMs));
  const stickiness = createStickiness(clock, { savedPins: older(saved?.stickiness, passedMs) });
  const responses = createStickiness(clock, {
    idleMs: RESPONSES_MS,
    savedPins: older(saved?.responses, passedMs),
  });
  let changes = 0;
  return {
    stickiness,
    responses,
    conversationsToSave() {
      const now = stickiness.changes + responses.changes;
      if (now === changes) return undefined;
      changes = now;
      return {
        savedAtMs: clock.now(),
        stickiness: stickiness.latest(MOST_SAVED),
        responses: responses.latest(MOST_SAVED),
      };
    },
  };
}

/** What is of another form, as of another version, is left out. */
function older(pins: unknown, passedMs: number): SavedPin[] {
  if (!Array.isArray(pins) || Number.isNaN(passedMs)) return [];
  return pins.filter(isSavedPin).map((saved) => ({ ...saved, idleMs: saved.idleMs + passedMs }));
}

function isSavedPin(value: unknown): value is SavedPin {
  const { conversation, pin, idleMs } = (value ?? {}) as Partial<SavedPin>;
  return (
    typeof conversation === 'string' &&
    typeof idleMs === 'number' &&
    typeof pin?.target?.provider === 'string'
  );
}
