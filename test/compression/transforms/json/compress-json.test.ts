import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeRecords } from '../../../../src/compression/json/encode.ts';
import { type Json, readJson, writeJson } from '../../../../src/compression/json/read.ts';
import { canonical } from '../../canonical.ts';
import { decodeRecords } from '../../decode/records.ts';

function read(text: string): Json {
  const found = readJson(text);
  if (!found) throw new Error(`not JSON: ${text.slice(0, 80)}`);
  return found.value;
}

const word = fc.constantFrom(
  'id',
  'name',
  'b c',
  'url',
  'x#1',
  'a=b',
  'k,',
  '(',
  '"q',
  'é',
  '2024-05-01',
  '__proto__',
);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom(
    '',
    '~',
    '~x',
    '12',
    'null',
    'two words',
    'a b ',
    'x]',
    '],',
    '-1 {id}',
    '#1',
    '(',
    ',',
    ')',
    '"',
    'https://a.example/repos/one/two',
    '/usr/share/lib/x/y',
  ),
  fc.integer({ min: 0, max: 30 }).map((n) => `https://api.example.org/repos/one/two/issues/${n}`),
);
const leaf = fc.oneof(text, fc.integer(), fc.double(), fc.boolean(), fc.constant(null));
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    tie('list'),
    tie('rows'),
    tie('linked'),
    tie('joined'),
    tie('object'),
  ),
  list: fc.array(tie('any'), { maxLength: 5 }),
  object: fc.dictionary(word, tie('any'), { maxKeys: 6 }),
  // Like rows, some with a key less: what records are made for.
  rows: fc
    .tuple(
      fc.uniqueArray(word, { minLength: 1, maxLength: 5 }),
      fc.array(fc.array(tie('any'), { maxLength: 5 }), { maxLength: 7 }),
    )
    .map(([keys, rows]) =>
      rows.map((cells) =>
        Object.fromEntries(keys.flatMap((key, i) => (i in cells ? [[key, cells[i]]] : []))),
      ),
    ),
  // Rows with fields that depend on each other, and links that share their start.
  joined: fc.array(
    fc
      .tuple(text, fc.nat(1), fc.constantFrom('', '{/id}', 's', ',', '-', '\u2028'))
      .map(([name, of, end]) => ({
        ...(end === 's' ? {} : { name }),
        of: `thing ${of}`,
        number: `10${of}`,
        about: `all of ${of}${end === ',' ? end : ''}`,
        url: `https://api.example.org/${name}`,
        forks_url: `https://api.example.org/${name}/forks${end}`,
        keys_url: `https://api.example.org/${name}/keys{/key}`,
        tags_url: `https://api.example.org/${name}/tags`,
        page: `https://pages.example.org/about/${['~', '$', '', '"', '7'][name.length % 5]}${name}`,
        my_hooks_url: `https://api.example.org/${name}/my_hooks`,
        teams_url: `https://api.example.org/${name}/teams`,
      })),
    { maxLength: 16 },
  ),
  // Rows whose fields are made of each other, in a list or under one of them.
  linked: fc
    .tuple(
      fc.array(fc.tuple(text, fc.nat(99999)), { maxLength: 6 }),
      fc.constantFrom('', '/', 'a{b}', '"', '+,='),
    )
    .map(([rows, end]) => {
      const made = rows.map(([name, id]) => ({
        name,
        id,
        url: `https://x/${name}`,
        self: `https://x/${name}${end}`,
        n: `${id}${end}`,
      }));
      return rows.length % 2 === 0 ? made : Object.fromEntries(made.map((row) => [row.name, row]));
    }),
})).any;

describe('encodeRecords()', () => {
  it('is read back as the same value by decodeRecords(), for any value', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(value, fc.boolean(), (generated, keep) => {
        const json = read(JSON.stringify(generated) ?? 'null');
        const encoded = encodeRecords(json, { keepKey: (key) => keep && key === '"url"' });
        expect(canonical(decodeRecords(encoded))).toBe(canonical(json));
      }),
      { numRuns: process.env.GW_LONG ? 10_000 : 2_000 },
    );
  });

  it('writes the start that many links share once', () => {
    const at = 'https://api.example.org/repos/ann/tools';
    const json = read(
      JSON.stringify({
        forks_url: `${at}/forks`,
        size: 7,
        keys_url: `${at}/keys{/key_id}`,
        tags_url: `${at}/tags`,
        blobs_url: `${at}/git/blobs`,
        hooks_url: `${at}/hooks`,
      }),
    );
    expect(encodeRecords(json).split('\n').slice(1)).toEqual([
      `~="${at}/"`,
      '{"forks_url":"~forks","size":7,"keys_url":"~keys{/key_id}","tags_url":"~tags","blobs_url":"~git/blobs","hooks_url":"~hooks"}',
    ]);
  });

  it('writes the keys of like rows once and what all rows share once', () => {
    const json = read(
      '[{"id":1,"site":"x","ok":true},{"id":2,"site":"x","ok":false},{"id":3,"site":"x","ok":null},{"id":4,"site":"x","ok":true}]',
    );
    expect(encodeRecords(json).split('\n').slice(1)).toEqual([
      '#1(id,site="x",ok)',
      '#1[',
      '1,true',
      '2,false',
      '3,null',
      '4,true',
      ']',
    ]);
  });

  it('keeps the keys of maps that are keyed by data beside their values', () => {
    const json = read(
      '[{"2024-05-01":{"a":1,"b":2},"2024-05-02":{"a":3,"b":4}},{"2024-05-01":{"a":5,"b":6},"2024-05-02":{"a":7,"b":8}}]',
    );
    expect(encodeRecords(json)).toContain('#1{"2024-05-01":(1,2),"2024-05-02":(3,4)}');
  });

  it('keeps a URL whole whose key the question names', () => {
    const rows = Array.from({ length: 4 }, (_, i) => ({
      clone_url: `https://example.org/some/long/path/${i}`,
    }));
    const json = read(JSON.stringify({ rows, a: 1 }));
    expect(encodeRecords(json, { keepKey: () => true })).toContain('https://example.org/some/long/path/3');
  });
});

describe('readJson()', () => {
  it('keeps numbers and escapes as written', () => {
    const source = '{"a":12345678901234567890,"b":1.0,"c":1e-7,"d":-0,"e":"\\u00e9\\/"}';
    expect(writeJson(read(source))).toBe(source);
  });

  it.each(['{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '[1,]', '{a:1}', '[01]', '["\n"]', '["\\x"]', '[1'])(
    'refuses %j',
    (source) => {
      expect(readJson(source)?.end).not.toBe(source.length);
    },
  );

  it('refuses what is nested too deep instead of running out of stack', () => {
    expect(readJson('['.repeat(100_000))).toBeUndefined();
  });
});
