import { describe, expect, test } from 'vitest';
import { readForm } from '../../../src/wire/request/form.ts';

const TYPE = 'multipart/form-data; boundary=b';
const read = (text: string, type = TYPE) => {
  const bytes = Buffer.from(text);
  return readForm(bytes, type)?.map(({ name, isFile, start, end }) => [
    name,
    isFile,
    bytes.toString('utf8', start, end),
  ]);
};
const part = (disposition: string, value: string, more = '') =>
  `--b\r\ncontent-disposition: ${disposition}\r\n${more}\r\n${value}\r\n`;
const END = '--b--\r\n';

describe('readForm()', () => {
  test('reads fields and files in their order', () => {
    const text = [
      part('form-data; name="model"', 'm'),
      part('form-data; name=n', ''),
      part('form-data; name="image[]"; filename="a;b.png"', 'PNG\r\n--x', 'content-type: image/png\r\n'),
      END,
    ].join('');
    const fields = [
      ['model', false, 'm'],
      ['n', false, ''],
      ['image[]', true, 'PNG\r\n--x'],
    ];
    expect(read(text)).toEqual(fields);
    expect(read(text, 'multipart/form-data; charset=utf-8; boundary="b"')).toEqual(fields);
    expect(read(text.replace(/\r\n$/, ''))).toEqual(fields);
  });

  test.each([
    ['text before the first field', `x\r\n${part('form-data; name="a"', '1')}${END}`],
    [
      'text behind the last field',
      `${part('form-data; name="a"', '1')}${END}${part('form-data; name="b"', '2')}`,
    ],
    ['no end', part('form-data; name="a"', '1')],
    ['an escape in a name', `${part('form-data; name="a\\"b"', '1')}${END}`],
    ['an extended name', `${part("form-data; name*=utf-8''a", '1')}${END}`],
    ['both kinds of name', `${part('form-data; name="a"; name*=utf-8\'\'b', '1')}${END}`],
    ['a name twice', `${part('form-data; name="a"; name="b"', '1')}${END}`],
    ['no name', `${part('form-data', '1')}${END}`],
    ['another disposition', `${part('attachment; name="a"', '1')}${END}`],
    [
      'a disposition twice',
      `${part('form-data; name="a"', '1', 'Content-Disposition: form-data; name="b"\r\n')}${END}`,
    ],
    ['a folded header', `${part('form-data;\r\n name="a"', '1')}${END}`],
    ['bare line feeds', `${part('form-data; name="a"', '1')}${END}`.replaceAll('\r\n', '\n')],
    ['blanks behind a boundary', `${part('form-data; name="a"', '1').replace('--b', '--b ')}${END}`],
    [
      'quoted-printable',
      `${part('form-data; name="model"', 'dea=72', 'content-transfer-encoding: quoted-printable\r\n')}${END}`,
    ],
    ['base64', `${part('form-data; name="a"', 'ZGVhcg==', 'Content-Transfer-Encoding: base64\r\n')}${END}`],
    [
      'a charset of its own',
      `${part('form-data; name="a"', '1', 'content-type: text/plain; charset=utf-16le\r\n')}${END}`,
    ],
    [
      'a charset with another spelling',
      `${part('form-data; name="a"', '1', 'content-type: text/plain; charset*=utf-7\r\n')}${END}`,
    ],
    ['nothing', ''],
  ])('leaves alone what servers could read differently: %s', (_, text) => {
    expect(read(text)).toBeUndefined();
  });

  test.each([
    'multipart/form-data; boundary=b; boundary=c',
    'multipart/form-data; boundary=c; boundary=b',
    'multipart/form-data; x="; boundary=b;"; boundary=c',
    "multipart/form-data; boundary=b; boundary*=utf-8''c",
    'multipart/form-data; boundary=b; charset=cp037',
    'multipart/form-data; boundary=b, multipart/form-data; boundary=c',
  ])('leaves alone a form whose type servers could read differently: %s', (type) => {
    expect(read(`${part('form-data; name="model"', 'cheap')}${END}`, type)).toBeUndefined();
  });

  test('reads parts with the headers that HTTP libraries add', () => {
    const more = 'Content-Type: text/plain; charset=ISO-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n';
    expect(read(`${part('form-data; name="model"', 'm', more)}${END}`)).toEqual([['model', false, 'm']]);
  });

  test('leaves a form without a boundary alone', () => {
    expect(read(`${part('form-data; name="a"', '1')}${END}`, 'multipart/form-data')).toBeUndefined();
  });
});

test('a form of more fields than servers take is refused', () => {
  const form = (fields: number) =>
    Buffer.from(`${'--b\r\ncontent-disposition: form-data; name="x"\r\n\r\n1\r\n'.repeat(fields)}--b--\r\n`);
  expect(readForm(form(1_000), 'multipart/form-data; boundary=b')).toHaveLength(1_000);
  expect(() => readForm(form(1_001), 'multipart/form-data; boundary=b')).toThrow('more than 1000 fields');
});
