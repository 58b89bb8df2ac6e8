import type { AnswerEvent } from '../conversation/answer.ts';

/**
 * Holds back what a provider seals behind a text until a call follows: agents take the last part of an answer for its
 * result, and a turn without calls has nothing that must come back.
 */
export function createLateSeals(): (events: AnswerEvent[]) => AnswerEvent[] {
  let isBehindText = false;
  let held: AnswerEvent[] = [];
  return (events) => {
    if (!isBehindText && !events.some(({ type }) => type === 'text')) return events;
    return events.flatMap((event) => {
      if (event.type === 'text') isBehindText = true;
      if (event.type === 'seal' && isBehindText) {
        held.push(event);
        return [];
      }
      if (event.type !== 'call') return event;
      const released = [...held, event];
      held = [];
      isBehindText = false;
      return released;
    });
  };
}
