import fc from 'fast-check';
import type { Change } from '../../../src/agents/settings/change.ts';
import type { FormatName } from '../../../src/agents/settings/edit.ts';

/** What gw would write into files of a format, in one of several combinations. */
export const CHANGES: Record<FormatName, readonly Change[]> = {
  dotenv: [
    { path: ['ADDRESS'], value: 'http://localhost:4747' },
    { path: ['TOKEN'], value: 'sk-gw-key' },
    { path: ['NOTE'], value: 'two words # and a sign' },
  ],
  json: [
    { path: ['env', 'ADDRESS'], value: 'http://localhost:4747' },
    { path: ['env', 'TOKEN'], value: 'sk-gw-key' },
    { path: ['model'], value: 'a/b' },
    { path: ['providers', 'gw', 'options', 'url'], value: 'u' },
    { path: ['models', { by: 'id', text: 'gw' }], value: { id: 'gw', roles: ['chat'] } },
  ],
  toml: [
    { path: ['model_provider'], value: 'gw' },
    { path: ['model_providers', 'gw', 'name'], value: 'gw' },
    { path: ['model_providers', 'gw', 'base_url'], value: 'http://localhost:4747/v1' },
    { path: ['model_providers', 'gw', 'wire_api'], value: null },
  ],
  yaml: [
    { path: ['address'], value: 'http://localhost:4747' },
    { path: ['models', { by: 'name', text: 'gw' }], value: { name: 'gw', roles: ['chat'], on: true } },
    { path: ['set-env', { text: 'BASE=' }], value: 'BASE=http://localhost' },
    { path: ['providers', 'gw', 'model'], value: 'm' },
  ],
};

/** A text of a format as people and programs write them: comments, blank lines, odd spacing, line endings, a BOM. */
export function oddText(name: FormatName): fc.Arbitrary<string> {
  const text = { dotenv: dotenvText, json: jsonText, toml: tomlText, yaml: yamlText }[name];
  return fc
    .record({
      text,
      eol: fc.constantFrom('\n', '\r\n'),
      bom: fc.constantFrom('', '', '\ufeff'),
      isEnded: fc.boolean(),
      blank: fc.constantFrom('', '\n', '\n\n'),
    })
    .map(({ text, eol, bom, isEnded, blank }) => {
      const ended = isEnded ? `${text}\n${blank}` : text;
      return bom + ended.replaceAll('\n', eol);
    });
}

const comment = fc.constantFrom('a note', 'TODO: "quoted" { [', 'models: - gw', '', 'a, b = c');
const scalar = fc.oneof(
  fc.constantFrom('"text"', '"with # and // in it"', '"C:\\\\x"', 'true', '0.25', '12'),
  fc.nat({ max: 99_999 }).map(String),
);

/** Variables in the ways that dotenv reads them, and lines that are none. */
const dotenvText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      comment.map((text) => `# ${text}`),
      fc.constantFrom('', '  ', 'no variable'),
      fc
        .tuple(
          fc.constantFrom('', 'export ', '  '),
          fc.constantFrom('ADDRESS', 'TOKEN', 'OTHER', 'my.own-name'),
          fc.constantFrom('=', ' = '),
          fc.constantFrom('', 'plain', "'a # b'", '"a \\"b\\" # c"', '"two\nlines"', '`x`', 'a b'),
          fc.constantFrom('', ' # of it', '   '),
        )
        .map((parts) => parts.join('')),
    ),
    { maxLength: 6 },
  )
  .map((lines) => lines.join('\n'));

/** The values of gw's paths that may be there before. */
const jsonValues: fc.Arbitrary<unknown> = fc.record(
  {
    theme: fc.constantFrom('dark', '# no comment', 'a // b'),
    env: fc.dictionary(fc.constantFrom('ADDRESS', 'OTHER', 'PATH'), fc.constantFrom('x', '', 'http://other')),
    model: fc.constantFrom('old', 'other/m'),
    'own key': fc.array(fc.oneof(fc.integer(), fc.string()), { maxLength: 3 }),
    providers: fc.dictionary(
      fc.constantFrom('gw', 'other'),
      fc.record(
        { options: fc.dictionary(fc.constantFrom('url', 'key'), fc.string()), models: fc.constant([]) },
        { requiredKeys: [] },
      ),
    ),
    models: fc.array(
      fc.record(
        { id: fc.constantFrom('a', 'b'), deep: fc.constant({ list: [1, [2]] }) },
        { requiredKeys: ['id'] },
      ),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: [] },
);

interface JsonStyle {
  unit: string;
  /** One line for all, or a line for each value. */
  isCompact: boolean;
  hasTrailingCommas: boolean;
  /** A comment for each value in turn, or none. */
  comments: readonly (string | null)[];
}

const jsonText = fc
  .tuple(
    jsonValues,
    fc.record<JsonStyle>({
      unit: fc.constantFrom('  ', '    ', '\t', ''),
      isCompact: fc.boolean(),
      hasTrailingCommas: fc.boolean(),
      comments: fc.array(fc.option(comment), { minLength: 1, maxLength: 5 }),
    }),
  )
  .map(([value, style]) => printJson(value, style))
  .chain((text) =>
    fc.constantFrom(text, text, text, '', '{}', '{ }', '{\n}', '// nothing', '{ /* nothing */ }'),
  );

function printJson(value: unknown, { unit, isCompact, hasTrailingCommas, comments }: JsonStyle): string {
  let count = 0;
  const noteOf = () => comments[count++ % comments.length] ?? null;
  const print = (each: unknown, indent: string): string => {
    if (typeof each !== 'object' || each === null) return JSON.stringify(each);
    const isList = Array.isArray(each);
    const [open, close] = isList ? '[]' : '{}';
    const items = Object.entries(each).map(([key, inner]) => {
      const text = print(inner, indent + unit);
      return isList ? text : `${JSON.stringify(key)}:${isCompact ? '' : ' '}${text}`;
    });
    if (items.length === 0) return `${open}${close}`;
    if (isCompact) return `${open}${items.join(',')}${close}`;
    const lines = items.map((item, i) => {
      const note = noteOf();
      const comma = i < items.length - 1 || hasTrailingCommas ? ',' : '';
      const above = note !== null && note.length % 2 === 0 ? `${indent}${unit}/* ${note} */\n` : '';
      const behind = note !== null && note.length % 2 === 1 ? ` // ${note}` : '';
      return `${above}${indent}${unit}${item}${comma}${behind}`;
    });
    return `${open}\n${lines.join('\n')}\n${indent}${close}`;
  };
  return print(value, '');
}

/** Root keys, then tables; `n` makes keys unique. */
const tomlText = fc
  .record({
    head: fc.array(fc.oneof(tomlComment(), fc.constant('')), { maxLength: 3 }),
    root: fc.array(tomlPair(), { maxLength: 3 }),
    own: fc.constantFrom(
      '',
      '',
      'model_provider = "old"  # mine',
      'model_providers.other.name = "dotted"',
      'model_providers = { other = { name = "x" },  last = { name = "y" } }',
      'model_providers = {a = {}}',
    ),
    table: fc.constantFrom(
      '',
      '',
      '[model_providers]',
      '[model_providers.gw] # mine\n# a note\nname = "mine"\nwire_api = "chat"',
      '[model_providers.gw]',
      '[model_providers.other]\nname = "o"\n\n\t[model_providers.other.headers]\n\tx = "1"',
      '[ model_providers . "gw" ]\nbase_url = \'literal\'',
    ),
    tables: fc.array(fc.tuple(fc.constantFrom('[', '[['), fc.array(tomlPair(), { maxLength: 3 })), {
      maxLength: 3,
    }),
  })
  .map(({ head, root, own, table, tables }) => {
    let n = 0;
    const unique = (pair: string) => pair.replace('@', `k${n++}`);
    const isDotted = own.startsWith('model_providers');
    const lines = [
      ...head,
      ...root.map(unique),
      own,
      ...(isDotted ? [] : [table]),
      ...tables.map(([open, pairs]) => {
        const close = open === '[' ? ']' : ']]';
        return [`${open}t${n++}."a/b"${close}`, ...pairs.map(unique)].join('\n');
      }),
    ];
    return lines.filter((line, i) => line !== '' || i % 2 === 0).join('\n');
  });

function tomlComment(): fc.Arbitrary<string> {
  return comment.map((text) => `# ${text}`);
}

function tomlPair(): fc.Arbitrary<string> {
  const value = fc.oneof(
    scalar,
    fc.constantFrom(
      "'literal # x'",
      '"""\n[no.table]\nx = 1\n"""',
      '[ 1,\n  2, # two\n]',
      '{ a = 1,  b.c = 2 }',
    ),
    fc.constantFrom('1979-05-27T07:32:00Z', '0xDEAD_BEEF', '1e6', 'inf'),
  );
  return fc
    .tuple(fc.constantFrom('', '\t'), fc.constantFrom(' = ', '=', '   =  '), value, fc.option(comment))
    .map(([indent, equals, text, note]) => `${indent}@${equals}${text}${note === null ? '' : ` # ${note}`}`);
}

const yamlText = fc
  .record({
    start: fc.constantFrom('', '', '---\n', '# first line\n', '# first\n\n'),
    parts: fc.uniqueArray(
      fc.tuple(
        fc.constantFrom('address', 'models', 'set-env', 'providers', 'z1', 'z2', 'z3'),
        fc.nat({ max: 5 }),
        fc.option(comment),
      ),
      { selector: ([key]) => key, maxLength: 6 },
    ),
    gap: fc.constantFrom('\n', '\n\n', '\n# between\n'),
    isFlow: fc.constantFrom(false, false, false, false, true),
  })
  .map(({ start, parts, gap, isFlow }) => {
    if (isFlow) return `${start}{theme: dark,   models: [{name: a}, {name: b}], n: 1}`;
    return start + parts.map(([key, kind, note]) => yamlPart(key, kind, note)).join(gap);
  });

function yamlPart(key: string, kind: number, note: string | null): string {
  const behind = note === null ? '' : ` # ${note}`;
  const variants: Record<string, readonly string[]> = {
    address: [
      'address: http://old',
      'address:   "quoted"',
      "address: 'single'",
      'address: 5',
      'address:',
      'address: ~',
    ],
    models: [
      'models:\n  - name: a\n    key:   "k"\n\n  # second\n  - name: b',
      'models:\n- name: a\n  key: k',
      'models:',
      'models: []',
      'models: [{name: a}]',
      'models:\n  # mine\n  - name: gw\n    provider: mine\n  - {name: z}',
    ],
    'set-env': [
      'set-env:\n  - A=1',
      'set-env: [A=1]',
      'set-env:',
      'set-env:\n- "BASE=old"\n- B=2',
      'set-env: []',
      'set-env:\n    - A=1',
    ],
    providers: [
      'providers:\n  gw:\n    model: mine\n    other: 1',
      'providers:\n  x:\n    y: 1',
      'providers: {}',
      'providers: {x: {y: 1}}',
      'providers:',
      'providers:\n    gw: {}',
    ],
  };
  const others = [
    `${key}: plain text`,
    `${key}: |\n  block\n   text`,
    `${key}: >-\n  folded\n  text`,
    `${key}: {a: 1,   b: [x, y]}`,
    `${key}: 2026-01-01`,
    `${key}: 'it''s'`,
  ];
  const text = variants[key]?.[kind] ?? others[kind] ?? `${key}: 1`;
  return text.includes('\n') ? text : text + behind;
}
