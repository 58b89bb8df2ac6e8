import { EMPTY } from './json.ts';
import type { Translator } from './translator.ts';

/** Two translators as one: what the first makes of a provider's answer is what the second reads. */
export function chain(first: Translator, second: Translator): Translator {
  const passedOn = (events: Buffer) => (events.length === 0 ? EMPTY : second.events(events));
  return {
    answer: (body, status) => second.answer(first.answer(body, status), status),
    events: (events) => passedOn(first.events(events)),
    end: () => Buffer.concat([passedOn(first.end()), second.end()]),
  };
}
