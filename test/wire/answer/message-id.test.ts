import { describe, expect, test } from 'vitest';
import { messageIdIn } from '../../../src/wire/answer/served-model.ts';
import { eventText } from '../support/event-scripts.ts';
import { messageBody, messageStream, text } from '../support/messages-shapes.ts';

const inBody = (body: unknown) =>
  messageIdIn(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), false);
const inEvents = (events: string) => messageIdIn(Buffer.from(events), true);
const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
/** Gemini sorts the fields, so that a call's id comes first. */
const SORTED = {
  choices: [{ index: 0, message: { tool_calls: [{ function: {}, id: 'call_1' }] } }],
  id: 'sorted-1',
};

describe('messageIdIn()', () => {
  test.each<[string, unknown, string]>([
    ['a message', { model: 'm', id: 'msg_1', type: 'message', content: [] }, 'msg_1'],
    [
      'an indented completion',
      JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion' }, null, 2),
      'chatcmpl-1',
    ],
    ['a response', { id: 'resp_1', object: 'response' }, 'resp_1'],
    ['sorted fields', SORTED, 'sorted-1'],
    ['an id behind a long text', { choices: ['x'.repeat(5_000)], id: 'late-1' }, 'late-1'],
    ['no id', { choices: [] }, ''],
    ['an id that is a number', { id: 7 }, ''],
    ['a hostile id', { id: '\u001b[2J' }, ''],
    ['a very long id', { id: 'x'.repeat(129) }, ''],
    ['no JSON', 'Bad gateway', ''],
  ])('%s', (_kind, body, id) => {
    expect(inBody(body)).toBe(id);
  });

  test.each([
    [
      'of messages',
      messageStream([text('Hi')])
        .map(eventText)
        .join(''),
      messageBody([]).id,
    ],
    ['of chat chunks', data({ id: 'chatcmpl-1', choices: [] }) + data({ id: 'chatcmpl-2' }), 'chatcmpl-1'],
    ['of sorted chunks', data(SORTED), 'sorted-1'],
    ['after a comment', `: OPENROUTER PROCESSING\n\n${data({ id: 'gen-1' })}`, 'gen-1'],
    [
      'of a response, whose first event is cut',
      `event: response.created\n${data({ type: 'response.created', sequence_number: 0, response: { id: 'resp_1', instructions: 'x'.repeat(900) } }).slice(0, 600)}`,
      'resp_1',
    ],
    [
      'of a response with other fields first',
      data({ response: { object: 'response', id: 'resp_2' }, sequence_number: 0, type: 'response.created' }),
      'resp_2',
    ],
    ['without ids', data({ choices: [] }), ''],
  ])('a stream %s', (_kind, events, id) => {
    expect(inEvents(events)).toBe(id);
  });
});
