import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { readLoosely } from '../../../src/wire/request/lenient.ts';

const read = (body: string, type: string) =>
  readLoosely(Buffer.from(body), { headers: { 'content-type': type } } as IncomingMessage);
const form = (...names: string[]) =>
  `${names.map((name) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\nm\r\n`).join('')}--b--\r\n`;
const FORM = 'multipart/form-data; boundary=b';

describe('readLoosely()', () => {
  test.each(['Model', 'model[]', 'model[0]', 'MODEL', ' model', 'Stream', '\u017ftream', 'stream[a]'])(
    'refuses a field that some servers take for one that gw reads: %s',
    (name) => {
      const refused = expect.objectContaining({ status: 400, code: 'ambiguous_parameter' });
      expect(() => read(form('model', name), FORM)).toThrow(refused);
      expect(() => read(form(name), FORM)).toThrow(refused);
    },
  );

  test.each(['model_id', 'models', 'image[]', 'timestamp_granularities[]', 'Prompt'])(
    'reads a form with another field beside its model: %s',
    (name) => {
      expect(read(form(name, 'model'), FORM).model).toBe('m');
    },
  );

  test.each([
    ['application/json', true],
    ['application/vnd.api+json; charset=utf-8', true],
    ['text/json', true],
    ['application/x-ndjson', false],
    ['text/plain', false],
    ['text/plain; x=json', false],
  ])('tells what is announced as a JSON text and is none: %s', (type, isBroken) => {
    for (const body of ['{"a":NaN}', '{"a":1}{}', '\ufeff \ufeff{}', "{'a':1}"])
      expect(read(body, type).isBroken ?? false).toBe(isBroken);
    for (const body of ['', ' ', '[1]', '{"a":1}']) expect(read(body, type).isBroken ?? false).toBe(false);
  });
});
