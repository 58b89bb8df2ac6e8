import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dataIn, eventsIn } from '../../../src/wire/answer/events.ts';

const line = fc.oneof(
  fc.json().map((json) => `data: ${json}`),
  fc.constantFrom(
    'data: [DONE]',
    'data:x',
    'data',
    ': ping',
    'event: ping',
    'data: ',
    'data: naïve 👩‍🚀',
    '',
  ),
);
const lineEnd = fc.constantFrom('\n', '\n', '\n', '\r\n', '\r');
const streams = fc
  .array(fc.tuple(line, lineEnd, fc.boolean()))
  .map((lines) => lines.map(([text, end, ends]) => text + end + (ends ? end : '')).join(''));

test.each([
  ['nothing', '', []],
  ['plain events', 'data: {"a":1}\n\ndata: [DONE]\n\n', ['{"a":1}', '[DONE]']],
  ['an unfinished event', 'data: a\n\ndata: b', ['a', 'b']],
  ['two data lines', 'data: a\ndata: b\n\n', ['a\nb']],
])('dataIn() reads %s', (_, stream, data) => {
  expect(dataIn(Buffer.from(stream))).toEqual(data);
});

test('dataIn() and eventsIn() read the same data', () => {
  fc.assert(
    fc.property(streams, (stream) => {
      const events = Buffer.from(stream);
      expect(dataIn(events)).toEqual([...eventsIn(events)].map(({ data }) => data));
    }),
  );
});
