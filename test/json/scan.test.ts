import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonSyntaxError, readValue, scanArray, scanObject } from '../../src/json/scan.ts';

const LONG = { timeout: 120_000 };

const RUNS = process.env.GW_LONG ? 100_000 : 3_000;

/** The members as values; a key that stands twice gives two. */
function read(text: string | Buffer): [string, unknown][] {
  const bytes = Buffer.from(text);
  return scanObject(bytes).map((member) => [member.key, readValue(bytes, member)]);
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('scanObject()', () => {
  test('finds the same members as JSON.parse in every object', LONG, () => {
    const objects = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 4 }), {
      maxKeys: 8,
    });
    const spaces = fc.constantFrom(undefined, 1, '\t', '\r\n ');
    fc.assert(
      fc.property(objects, spaces, (object, space) => {
        const text = JSON.stringify(object, null, space);
        expect(read(text)).toEqual(Object.entries(JSON.parse(text)));
      }),
      { numRuns: RUNS },
    );
  });

  test(
    'takes nothing for an object that JSON.parse does not, but for what stands inside strings and numbers',
    LONG,
    () => {
      const noise = fc.constantFrom(
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '\\',
        ' ',
        '1',
        '-',
        'e',
        'true',
        'null',
        '"a"',
        'x',
        '.',
      );
      fc.assert(
        fc.property(fc.array(noise, { maxLength: 14 }), (parts) => {
          const text = `{${parts.join('')}}`;
          let found: ReturnType<typeof scanObject> | undefined;
          try {
            found = scanObject(Buffer.from(text));
          } catch (error) {
            expect(error).toBeInstanceOf(JsonSyntaxError);
          }
          if (parses(text)) expect(found).toBeDefined();
          // A value that JSON.parse takes on its own wherever the scanner found one makes a text that it takes.
          else if (found)
            expect(found.some(({ start, end }) => !parses(text.slice(start, end)) || hasBadKey(text))).toBe(
              true,
            );
        }),
        { numRuns: RUNS * 3 },
      );
    },
  );

  test('takes a mutation of an object as JSON.parse does, or refuses it', LONG, () => {
    const base =
      '{"model":"m","messages":[{"content":"\\u00e9\\\\ \\" x","n":[1,-2.5e3,true,null,{}]}],"s":{}}';
    fc.assert(
      fc.property(
        fc.nat(base.length),
        fc.nat(3),
        fc.constantFrom('', '"', '\\', '{', '}', ',', ' ', ':', ']'),
        (at, drop, put) => {
          const text = base.slice(0, at) + put + base.slice(at + drop);
          if (!parses(text) || !text.startsWith('{')) return;
          expect(Object.fromEntries(read(text))).toEqual(JSON.parse(text));
        },
      ),
      { numRuns: RUNS },
    );
  });

  test('decodes keys as JSON does, and keeps duplicates', () => {
    expect(read('{"mod\\u0065l":1,"\\"":2,"a":3,"a":4,"__proto__":5,"":6}')).toEqual([
      ['model', 1],
      ['"', 2],
      ['a', 3],
      ['a', 4],
      ['__proto__', 5],
      ['', 6],
    ]);
  });

  test('passes over a byte order mark', () => {
    expect(read('\ufeff {"a":1}')).toEqual([['a', 1]]);
  });

  test.each([
    ['nesting of 256', `{"a":${'['.repeat(256)}${']'.repeat(256)}}`, true],
    ['nesting of 257', `{"a":${'['.repeat(257)}${']'.repeat(257)}}`, false],
    ['objects in lists of 256', `{"a":${'[{"a":'.repeat(128)}1${'}]'.repeat(128)}}`, true],
    ['a quote behind 40 backslashes', `{"a":"${'\\'.repeat(40)}"}`, true],
    ['a quote behind 41 backslashes', `{"a":"${'\\'.repeat(41)}"}`, false],
    ['a backslash at byte 31 of a string', `{"a":"${'x'.repeat(30)}\\"${'y'.repeat(40)}"}`, true],
    ['a control character in a string', '{"a":"\u0001"}', true],
    ['an open string', '{"a":"x', false],
    ['a lone backslash at the end', '{"a":"\\', false],
    ['two commas', '{"a":1,,"b":2}', false],
    ['a word for a value', '{"a":nul}', false],
    ['a literal cut off', '{"a":tru', false],
    ['a lone minus', '{"a":-}', false],
    ['mismatched brackets', '{"a":[1}]', false],
    ['text behind the end', '{} {}', false],
    ['nothing', '', false],
  ])('%s', (_name, text, taken) => {
    if (taken) expect(scanObject(Buffer.from(text)).length).toBeGreaterThanOrEqual(1);
    else expect(() => scanObject(Buffer.from(text))).toThrow(JsonSyntaxError);
  });

  test('scans 4 MB of the worst kinds in linear time', () => {
    for (const unit of ['\\\\', '\\"', 'x', '[],', '{"a":1},', '  ']) {
      const inner = unit.repeat(4e6 / unit.length);
      const value = /^[[{ ]/.test(unit) ? `[${inner}1]` : `"${inner}"`;
      const bytes = Buffer.from(`{"a":${value}}`);
      const started = performance.now();
      expect(scanObject(bytes)).toHaveLength(1);
      expect(performance.now() - started).toBeLessThan(15_000);
    }
  });
});

/** Whether a key is no JSON string, which the scanner leaves to whoever reads it. */
function hasBadKey(text: string): boolean {
  return /[\\]/.test(text);
}

describe('scanArray()', () => {
  test('finds the elements of every array', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 3 })), (array) => {
        const bytes = Buffer.from(JSON.stringify(array, null, 1));
        const found = scanArray(bytes, 0).map((range) => readValue(bytes, range));
        expect(found).toEqual(JSON.parse(bytes.toString()));
      }),
    );
  });

  test('refuses what is none', () => {
    for (const text of ['{}', '[1,]', '[1', '[,1]', '[1 2]']) {
      expect(() => scanArray(Buffer.from(text), 0)).toThrow(JsonSyntaxError);
    }
  });
});
