import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sharedLength } from '../../../../src/json/bytes.ts';
import { applyEdits } from '../../../../src/json/edit.ts';
import { readValue, scanArray } from '../../../../src/json/scan.ts';
import { chatWire } from '../../../../src/wire/apis/chat.ts';
import { messagesWire } from '../../../../src/wire/apis/messages.ts';
import { responsesWire } from '../../../../src/wire/apis/responses.ts';
import { withEditedMember } from '../../../../src/wire/request/scan/body-scan.ts';
import type { Wire } from '../../../../src/wire/wire.ts';

const json = JSON.stringify;
const APIS: [string, Wire, string][] = [
  ['chat completions', chatWire, 'messages'],
  ["Anthropic's messages", messagesWire, 'messages'],
  ['responses', responsesWire, 'input'],
];

/** Words that a scan looks for, some in unusual spelling, and what stands around them. */
const words = fc.constantFrom(
  '"image_url"',
  '"image"',
  '"file_id"',
  '"type"',
  '"text"',
  '"web_search"',
  '"\\u0069mage"',
  '"data:image/png;base64,AA"',
  '"{\\"type\\":1}"',
  '{"type":"image","source":{"type":"url","url":"https://a.b/c.png"}}',
  '{"type":"unheard_of"}',
  '{"cache_control":{"type":"ephemeral"}}',
  '{"cache_control":{"type":"ephemeral","ttl":"1h"}}',
  '{"cache_control" : null}',
  '{"type":"text","text":"Hi","cache_control":{"type":"ephemeral","ttl":"5m"}}',
  '"cache_control"',
  '[]',
  '{}',
  '[[1.5e3],{"a":[{}]}]',
  'true',
  '-0.5',
);
/** Long enough for a point behind it. */
const long = fc
  .tuple(fc.integer({ min: 3_900, max: 4_300 }), fc.constantFrom('x', 'é', '\\\\', '\\n'))
  .map(([length, unit]) => `{"role":"user","content":"${unit.repeat(length)}"}`);
const element = fc.oneof({ weight: 3, arbitrary: words }, { weight: 2, arbitrary: long });
const comma = fc.constantFrom(',', ' , ', ',\n');
const elements = fc
  .array(fc.tuple(element, comma), { maxLength: 8 })
  .map((all) => all.map(([one, between]) => one + between).join(''));
/** Ends of a body, right ones and broken ones. */
const ends = fc.constantFrom(
  '1]}',
  '1] , "stream":true,"tools":[{"type":"web_search"}]}',
  '1],"model":"again"}',
  '1',
  '1]}}',
  '"unended]}',
  '{"cache_control":{"type":"ephemeral","ttl":"1h"}}]}',
  '"type"]}',
);

/** A scan, or what it says is wrong. */
function outcomeOf(scan: () => ReturnType<Wire['scan']>) {
  try {
    const { members, strings, points } = scan();
    return { members, strings, points };
  } catch (error) {
    return String(error);
  }
}

/** How often a scan that goes on from another body's differs from that of the whole, and how often it went on. */
function compare(wire: Wire, key: string, trusted: (shared: number) => number) {
  let differ = 0;
  let wentOn = 0;
  const property = fc.property(elements, elements, ends, elements, ends, (common, a, endA, b, endB) => {
    const begin = `{"model":"m","max_tokens":5,"${key}":[${common}`;
    const [first, second] = [Buffer.from(begin + a + endA), Buffer.from(begin + b + endB)];
    let entry: { bytes: Buffer; scan: ReturnType<Wire['scan']> };
    try {
      entry = { bytes: first, scan: wire.scan(first) };
    } catch {
      return;
    }
    const shared = trusted(sharedLength(first, second));
    const resumed = outcomeOf(() => wire.scan(second, { entry, shared }));
    const whole = outcomeOf(() => wire.scan(second));
    if (json(resumed) !== json(whole)) differ++;
    else if (entry.scan.points.some(({ position }) => position <= shared)) wentOn++;
  });
  fc.assert(property, { numRuns: 600, seed: 7 });
  return { differ, wentOn };
}

describe.each(APIS)('the scan of %s', (_, wire, key) => {
  test('goes on from an earlier body to the same end as from the start', () => {
    const { differ, wentOn } = compare(wire, key, (shared) => shared);
    expect(differ).toBe(0);
    expect(wentOn).toBeGreaterThan(200);
  });

  test.each([
    ['ends', 1],
    ['goes on', 2],
  ])('refuses a character that %s otherwise than in the earlier body', (_what, length) => {
    const begin = `{"model":"m","max_tokens":5,"${key}":["${'x'.repeat(20_000)}`;
    const earlier = Buffer.from(`${begin}\u20ac"]}`);
    const euro = Buffer.from('\u20ac').subarray(0, length);
    const bytes = Buffer.concat([Buffer.from(begin), euro, Buffer.from('"]}')]);
    const shared = sharedLength(earlier, bytes);
    expect(shared).toBe(begin.length + length);
    const entry = { bytes: earlier, scan: wire.scan(earlier) };
    for (const broken of [bytes, bytes.subarray(0, shared)])
      expect(() => wire.scan(broken, { entry, shared })).toThrow('it is not UTF-8');
  });

  test('would differ if it went on where two bodies have parted', () => {
    expect(compare(wire, key, (shared) => shared + 5_000).differ).toBeGreaterThan(0);
  });

  test('is moved along with texts that are replaced in its conversation', () => {
    const text = (length: number) => ({ role: 'user', content: 'long '.repeat(length) });
    const others = {
      model: 'm',
      max_tokens: 5,
      stream: true,
      stream_options: { include_usage: false },
      service: { optimize: false },
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    };
    const keys = fc.shuffledSubarray([...Object.keys(others), key], { minLength: 7 });
    fc.assert(
      fc.property(
        keys,
        fc.integer({ min: 0, max: 2 }),
        fc.string({ maxLength: 90 }),
        (order, at, replaced) => {
          const conversation = [text(40), text(9), text(100)];
          const body = Object.fromEntries(
            order.map((name) => [name, { ...others, [key]: conversation }[name]]),
          );
          const bytes = Buffer.from(json(body));
          const request = wire.parse(bytes);
          const messages = wire.messagesOf?.(request);
          if (!messages || !request.scan) throw new Error('there is no conversation');
          const item = scanArray(bytes, messages.start)[at];
          if (!item) throw new Error('there is no such message');
          const message = { ...(readValue(bytes, item) as object), content: `${replaced} in short` };
          const edited = applyEdits(bytes, [{ ...item, text: json(message) }]);
          const known = withEditedMember(request.scan, messages, edited.length - bytes.length);
          const moved = json({ ...wire.parse(edited, known), scan: 0 });
          expect(moved).toEqual(json({ ...wire.parse(edited), scan: 0 }));
        },
      ),
      { numRuns: 200 },
    );
  });
});
