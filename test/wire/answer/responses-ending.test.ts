import { expect, test } from 'vitest';
import { valuesIn } from '../../../src/wire/answer/events.ts';
import { endResponseAtLimit } from '../../../src/wire/answer/responses-ending.ts';

const events = (...values: object[]) =>
  Buffer.from(values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join(''));

/** What ends a response whose one item is this far. */
function endOf(item: object, ...more: object[]): Record<string, unknown>[] {
  const ending = endResponseAtLimit();
  const at = { item_id: 'i1', output_index: 0 };
  const added = { type: 'response.output_item.added', output_index: 0, item: { id: 'i1', ...item } };
  ending.take(events(added, ...more.map((event) => ({ ...event, ...at }))));
  return [...valuesIn(ending.end(undefined))] as Record<string, unknown>[];
}

test('a text that is cut ends as a part of the content', () => {
  const [text, part] = endOf(
    { type: 'message', content: [] },
    { type: 'response.content_part.added', content_index: 0, part: { type: 'output_text', text: '' } },
    { type: 'response.output_text.delta', content_index: 0, delta: 'half' },
  );
  expect(text).toMatchObject({ type: 'response.output_text.done', content_index: 0, text: 'half' });
  expect(part).toMatchObject({ type: 'response.content_part.done', content_index: 0 });
  expect(text).not.toHaveProperty('summary_index');
});

test('a summary that is cut ends as a part of the summary', () => {
  const [text, part] = endOf(
    { type: 'reasoning', summary: [] },
    {
      type: 'response.reasoning_summary_part.added',
      summary_index: 0,
      part: { type: 'summary_text', text: '' },
    },
    { type: 'response.reasoning_summary_text.delta', summary_index: 0, delta: 'half' },
  );
  expect(text).toMatchObject({
    type: 'response.reasoning_summary_text.done',
    summary_index: 0,
    text: 'half',
  });
  expect(part).toMatchObject({ type: 'response.reasoning_summary_part.done', summary_index: 0 });
  expect(text).not.toHaveProperty('content_index');
});
