import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FORMATS, type FormatName } from '../../../src/agents/settings/edit.ts';
import {
  acceptFile,
  type FileEdit,
  isIntact,
  planEdit,
  planRestore,
  prepareEdit,
  undoEdit,
  writeEdit,
} from '../../../src/agents/settings/edit-file.ts';
import { tmpHome } from '../../support/tmp-home.ts';
import { CHANGES, oddText } from './odd-files.ts';

const RUNS = Number(process.env.GW_FUZZ_RUNS ?? 60);
const NAMES = Object.keys(FORMATS) as FormatName[];

/** Writes an edit as `gw connect` does. */
function write(edit: FileEdit) {
  const plan = planEdit(edit);
  const record = prepareEdit(plan);
  writeEdit(plan);
  return record;
}

const EDIT = (home: string): FileEdit => ({
  path: join(home, 'settings.json'),
  format: 'json',
  changes: [
    { path: ['env', 'URL'], value: 'http://gw' },
    { path: ['model'], value: 'm' },
    { path: ['version'], value: 1, isDefault: true },
  ],
});

describe('an edit that is undone', () => {
  test.each(NAMES)('leaves every %s file byte for byte as it was', (format) => {
    const home = tmpHome();
    const wanted = fc.subarray([...CHANGES[format]], { minLength: 1 });
    const place = fc.constantFrom('file', 'link', 'missing', 'empty');
    fc.assert(
      fc.property(oddText(format), wanted, place, (text, changes, kind) => {
        const folder = join(home, 'files');
        mkdirSync(folder);
        const path = join(folder, 'deep', 'settings');
        if (kind !== 'missing') mkdirSync(join(folder, 'deep'));
        if (kind === 'link') symlinkSync('../real', path);
        const target = kind === 'link' ? join(folder, 'real') : path;
        if (kind !== 'missing') writeFileSync(target, kind === 'empty' ? '' : text);
        const before = kind === 'missing' ? undefined : readFileSync(target);
        const record = write({ path, format, changes });
        expect(isIntact(record)).toBe(true);
        // The record is kept as JSON.
        undoEdit(JSON.parse(JSON.stringify(record)));
        if (before === undefined) expect(readdirSync(folder)).toEqual([]);
        else expect(readFileSync(target).equals(before)).toBe(true);
        if (kind === 'link') expect(lstatSync(path).isSymbolicLink()).toBe(true);
        rmSync(folder, { recursive: true });
      }),
      { numRuns: RUNS },
    );
  });

  test('keeps what others added since, and takes only its own values back', () => {
    const home = tmpHome();
    const path = join(home, 'settings.json');
    writeFileSync(path, '{\n  // mine\n  "env": { "URL": "http://old" }\n}\n');
    const record = write(EDIT(home));
    writeFileSync(path, readFileSync(path, 'utf8').replace('// mine', '// mine still\n  "theme": "dark",'));
    expect(undoEdit(record)).toMatchObject({ kind: 'edited', left: [] });
    expect(readFileSync(path, 'utf8')).toBe(
      '{\n  // mine still\n  "theme": "dark",\n  "env": { "URL": "http://old" }\n}\n',
    );
  });

  test('leaves a value of its own that others changed, unless it is forced', () => {
    const home = tmpHome();
    const path = join(home, 'settings.json');
    writeFileSync(path, '{"env":{"URL":"http://old"}}');
    const record = write(EDIT(home));
    writeFileSync(path, readFileSync(path, 'utf8').replace('http://gw', 'http://third'));
    const { left } = undoEdit(record);
    expect(left.map((each) => each.path)).toEqual([['env', 'URL']]);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ env: { URL: 'http://third' } });
    expect(undoEdit({ ...record, values: left }, { force: true })).toMatchObject({ left: [] });
    expect(readFileSync(path, 'utf8')).toBe('{"env":{"URL":"http://old"}}');
  });

  test('has nothing to do where others took its values back', () => {
    const home = tmpHome();
    const path = join(home, 'settings.json');
    writeFileSync(path, '{"env":{"URL":"http://old"}}');
    const record = write(EDIT(home));
    writeFileSync(path, '{"env":{"URL":"http://old"},"more":1}');
    expect(undoEdit(record)).toMatchObject({ kind: 'edited', left: [] });
    expect(readFileSync(path, 'utf8')).toBe('{"env":{"URL":"http://old"},"more":1}');
    rmSync(path);
    expect(undoEdit(record)).toMatchObject({ kind: 'nothing' });
    expect(existsSync(path)).toBe(false);
  });

  test('removes a file that it made only if nothing else is in it', () => {
    const home = tmpHome();
    const path = join(home, 'settings.json');
    let record = write(EDIT(home));
    writeFileSync(path, `${readFileSync(path, 'utf8')}\n\n`);
    expect(undoEdit(record)).toMatchObject({ kind: 'edited', bytes: undefined });
    expect(existsSync(path)).toBe(false);
    record = write(EDIT(home));
    writeFileSync(path, readFileSync(path, 'utf8').replace('{', '{\n  "theme": "dark",'));
    undoEdit(record);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ theme: 'dark' });
  });

  test('does not mind what others make of a default', () => {
    const home = tmpHome();
    const path = join(home, 'settings.json');
    const record = write(EDIT(home));
    writeFileSync(path, readFileSync(path, 'utf8').replace('"version": 1', '"version": 2'));
    expect(isIntact(record)).toBe(true);
    expect(undoEdit(record)).toMatchObject({ bytes: undefined, left: [] });
  });

  test('takes a file that the proof rewrote as its own', () => {
    const home = tmpHome();
    const path = join(home, 'settings.json');
    writeFileSync(path, '{ "theme" : "dark" }');
    const record = write(EDIT(home));
    writeFileSync(path, JSON.stringify(JSON.parse(readFileSync(path, 'utf8'))));
    expect(undoEdit(acceptFile(record))).toMatchObject({ kind: 'exact' });
    expect(readFileSync(path, 'utf8')).toBe('{ "theme" : "dark" }');
  });

  test('is undone after a crash between the record and the file', () => {
    const home = tmpHome();
    const path = join(home, 'settings.json');
    writeFileSync(path, '{}');
    const record = prepareEdit(planEdit(EDIT(home)));
    expect(undoEdit(record)).toMatchObject({ kind: 'nothing' });
    expect(readFileSync(path, 'utf8')).toBe('{}');
  });
});

test('an edit over an earlier one starts from what stood there before it', () => {
  const home = tmpHome();
  const path = join(home, 'settings.json');
  writeFileSync(path, '{"env":{"URL":"http://old"}}');
  const record = write(EDIT(home));
  const again = planEdit(
    { path, format: 'json', changes: [{ path: ['env', 'URL'], value: 'http://gw2' }] },
    record,
  );
  expect(again.bytes.toString()).toBe('{"env":{"URL":"http://gw2"}}');
  expect(again.record.values[0]?.former).toBe('"http://old"');
  expect(planRestore(record).kind).toBe('exact');
});

test.each<[FormatName, string, string]>([
  ['json', '{"a": }', 'not JSON: ValueExpected in line 1'],
  ['json', '{\n"env": [1]}', 'env is not an object'],
  ['json', '[1]', 'the whole file is not an object'],
  ['toml', 'a = \n', 'not TOML'],
  ['toml', 'env = 3\n', 'env is not a table'],
  ['yaml', 'a: [1', 'not YAML'],
  ['yaml', 'a: 1\n---\nb: 2\n', 'more than one YAML document'],
  ['yaml', 'env: text\n', 'env is not an object'],
  ['yaml', 'env: &x {a: 1}\nb: *x\n', 'without changing other values'],
])('refuses a %s file that it cannot edit: %j', (format, text, message) => {
  const path = join(tmpHome(), 'settings');
  writeFileSync(path, text);
  expect(() => planEdit({ path, format, changes: [{ path: ['env', 'URL'], value: 'u' }] })).toThrow(message);
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test('refuses a file that is not UTF-8', () => {
  const path = join(tmpHome(), 'settings');
  writeFileSync(path, Buffer.from([0xff, 0xfe, 0x7b, 0x00]));
  expect(() => planEdit({ path, format: 'json', changes: [{ path: ['a'], value: 'u' }] })).toThrow(
    'not UTF-8',
  );
});
