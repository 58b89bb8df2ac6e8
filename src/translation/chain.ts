import { EMPTY } from './json.ts';
import type { Translator } from './translator.ts';

/** Combines two translators: the second translates the output of the first. */
export function chain(first: Translator, second: Translator): Translator {
  const translateNext = (events: Buffer) => (events.length === 0 ? EMPTY : second.events(events));
  return {
    answer: (body, status) => second.answer(first.answer(body, status), status),
    events: (events) => translateNext(first.events(events)),
    end: () => Buffer.concat([translateNext(first.end()), second.end()]),
  };
}
