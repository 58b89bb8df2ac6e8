import { useCallback, useEffect, useRef, useSyncExternalStore } from 'preact/compat';
import type { AnswerOf, InputOf, Route } from './ask.ts';
import { follow, type Known, keyOf, knownOf } from './readings.ts';

/**
 * The answer of a reading operation. With `isLive`, it is read again while the page is visible, in turn with the others,
 * at most one request a second in all.
 */
export function useReading<Each extends Route>(
  route: Each,
  input: InputOf<Each>,
  options: { isLive?: boolean } = {},
): Known<AnswerOf<Each>> {
  const key = keyOf(route, input, options);
  const subscribe = useCallback((listener: () => void) => follow(key, listener), [key]);
  const known = useSyncExternalStore(subscribe, () => knownOf(key)) as Known<AnswerOf<Each>>;
  const latest = useRef<AnswerOf<Each>>(undefined);
  useEffect(() => {
    if (known.data !== undefined) latest.current = known.data;
  }, [known]);
  return known.data === undefined ? { ...known, data: latest.current } : known;
}
