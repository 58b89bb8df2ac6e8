import type { Dice } from '../fuzz/dice.ts';

/** A body and the content type that announces it. */
export interface TypedBody {
  type: string;
  bytes: Buffer;
}

// biome-ignore format: they fit a line
const FIELDS: readonly (readonly [string, readonly string[]])[] = [
  ['model', ['mock/cheap', 'cheap', 'mock/dear', 'dear', '']],
  ['prompt', ['hi']],
  ['n', ['1', '64']],
  ['stream', ['true', 'false', '1']],
  ['purpose', ['batch', 'vision']],
  ['model[]', ['mock/dear']],
  ['Model', ['mock/dear']],
  ['models', ['mock/dear']],
];

/** Names and values, the first a model in most cases. */
function fields(dice: Dice): [string, string][] {
  const more = Array.from({ length: dice.below(4) }, (): [string, string] => {
    const [name, values] = dice.pick(FIELDS);
    return [name, dice.pick(values)];
  });
  return dice.chance(0.85) ? [['model', dice.pick(['mock/cheap', 'mock/cheap', 'cheap'])], ...more] : more;
}

/** A form as browsers send it without files. */
export function urlencodedBody(dice: Dice): TypedBody {
  const text = pairs(
    dice,
    fields(dice).map(([name, value]) => [name, value]),
  );
  return { type: 'application/x-www-form-urlencoded', bytes: Buffer.from(text) };
}

/** Pairs of a query or a form, now and then spelled in other ways. */
export function pairs(dice: Dice, named: readonly (readonly [string, string])[]): string {
  const encode = (text: string) =>
    dice.chance(0.15)
      ? Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
      : encodeURIComponent(text);
  return named
    .map(([name, value]) => `${encode(name)}${dice.chance(0.04) ? '' : `=${encode(value)}`}`)
    .join(dice.chance(0.1) ? dice.pick([';', '&&', '&amp;']) : '&');
}

/** A form in parts (RFC 7578), or something close to one. */
export function multipartBody(dice: Dice): TypedBody {
  const boundary = dice.pick(['b', 'b', '----form7Ma4', 'a b', "b'c", 'b+c']);
  const eol = dice.chance(0.04) ? '\n' : '\r\n';
  const parts = fields(dice).map(([name, value]) => part(dice, { name, value, eol }));
  if (dice.chance(0.3)) {
    const file = `content-disposition: form-data; name="file"; filename="a.txt"${eol}content-type: text/plain`;
    parts.splice(dice.below(parts.length + 1), 0, `${file}${eol}${eol}model=dear${eol}--${boundary}x`);
  }
  const delimiter = `--${boundary}`;
  const before = dice.chance(0.05) ? dice.pick(['preamble\r\n', '\r\n', `--c\r\n`]) : '';
  const end = dice.chance(0.05) ? dice.pick(['', `${delimiter}${eol}`, `${delimiter}-`]) : `${delimiter}--`;
  const after = dice.chance(0.1) ? dice.pick([eol, `${eol}epilogue`, ` ${eol}`]) : eol;
  const between = dice.chance(0.03) ? ' ' : '';
  const text = parts.map((each) => `${delimiter}${between}${eol}${each}${eol}`).join('');
  if (dice.chance(0.06)) return dice.pick(DOUBLE)();
  return { type: typeOf(dice, boundary), bytes: Buffer.from(`${before}${text}${end}${after}`, 'latin1') };
}

/** Two forms in one: a server reads the one or the other by the content type. */
const DOUBLE: readonly (() => TypedBody)[] = [
  ...[
    'boundary=b; boundary=c',
    'boundary=c; boundary=b',
    'x="; boundary=b;"; boundary=c',
    "boundary=b; boundary*=utf-8''c",
    'boundary=b; boundary*0=c',
    'boundary=b,boundary=c',
    'boundary="b"; Boundary=c',
    'boundary=b ; x; boundary=c',
  ].map((parameters) => () => ({
    type: `multipart/form-data; ${parameters}`,
    bytes: formOf('b', ['model', 'mock/cheap'], ['file', `\r\n${formOf('c', ['model', 'mock/dear'])}`]),
  })),
  ...['utf-16', 'utf-16le', 'cp037', 'utf-7', 'iso-8859-1'].map((charset) => () => {
    const encode = charset === 'cp037' ? ebcdic : utf16;
    const bytes = formOf('b', ['model', 'mock/cheap'], [encode('model'), encode('mock/dear')]);
    return { type: `multipart/form-data; boundary=b; charset=${charset}`, bytes };
  }),
  ...['utf-16', 'utf-16le', 'cp037'].map((charset) => () => ({
    type: 'multipart/form-data; boundary=b',
    bytes: formOf('b', ['_charset_', charset], ['model', utf16('dear')]),
  })),
  ...['utf-16le', 'cp037', 'utf-8', 'utf-7'].map((charset) => () => {
    const value = charset === 'cp037' ? ebcdic('dear') : utf16('dear');
    const part = `--b\r\ncontent-disposition: form-data; name="model"\r\ncontent-type: text/plain; charset=${charset}\r\n\r\n${value}\r\n--b--\r\n`;
    return { type: 'multipart/form-data; boundary=b', bytes: Buffer.from(part, 'latin1') };
  }),
];

function formOf(boundary: string, ...named: readonly (readonly [string, string])[]): Buffer {
  const parts = named.map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return Buffer.from(`${parts.join('')}--${boundary}--\r\n`, 'latin1');
}

const utf16 = (text: string): string => Buffer.from(text, 'utf16le').toString('latin1');

/** Small letters and `/` in IBM's code page 37, which shares no letter with ASCII. */
function ebcdic(text: string): string {
  return text.replace(/[a-z/]/g, (letter) => {
    const at = letter.charCodeAt(0) - 97;
    const place = at < 9 ? 0x81 + at : at < 18 ? 0x91 + at - 9 : 0xa2 + at - 18;
    return String.fromCharCode(letter === '/' ? 0x61 : place);
  });
}

function typeOf(dice: Dice, boundary: string): string {
  const quoted = /^[\w-]+$/.test(boundary) ? boundary : `"${boundary}"`;
  const plain = `multipart/form-data; boundary=${quoted}`;
  if (!dice.chance(0.15)) return plain;
  return dice.pick([
    `multipart/form-data; boundary="${boundary}"`,
    `Multipart/Form-Data; Boundary=${quoted}`,
    `multipart/form-data;boundary=${quoted}`,
    `multipart/form-data; boundary=c; boundary=${quoted}`,
    `multipart/form-data; boundary=${quoted}; boundary=c`,
    `multipart/form-data; x=";boundary=c"; boundary=${quoted}`,
    `multipart/form-data; boundary=${quoted}; charset=utf-16`,
    `multipart/form-data; boundary*=utf-8''${boundary}`,
    `multipart/form-data; boundary*0=${quoted}; boundary*1=""`,
    `multipart/mixed; boundary=${quoted}`,
    `${plain}, application/json`,
    'multipart/form-data',
  ]);
}

function part(dice: Dice, { name, value, eol }: { name: string; value: string; eol: string }): string {
  const disposition = `content-disposition: form-data; name="${name}"`;
  const usual = `${disposition}${eol}${eol}${value}`;
  if (!dice.chance(0.25)) return usual;
  const percent = (text: string) => `%${text.charCodeAt(0).toString(16)}${text.slice(1)}`;
  return dice.pick([
    `content-disposition: form-data; name=${name}${eol}${eol}${value}`,
    `Content-Disposition:form-data;name="${name}"${eol}${eol}${value}`,
    `content-disposition: form-data; NAME="${name}"${eol}${eol}${value}`,
    `content-disposition: form-data; name='${name}'${eol}${eol}${value}`,
    `content-disposition: form-data; name="${percent(name)}"${eol}${eol}${value}`,
    `content-disposition: form-data; name="\\${name}"${eol}${eol}${value}`,
    `content-disposition: form-data; name="x"; name="${name}"${eol}${eol}${value}`,
    `content-disposition: form-data; name="${name}"; name="x"${eol}${eol}${value}`,
    `content-disposition: form-data; name="x"; name*=utf-8''${name}${eol}${eol}${value}`,
    `content-disposition: form-data; name="${name}"; filename="a"${eol}${eol}${value}`,
    `content-disposition: form-data; name="${name}"; filename*=utf-8''a${eol}${eol}${value}`,
    `content-disposition: form-data; name="${name}"; filename=""${eol}${eol}${value}`,
    `content-disposition: attachment; name="${name}"${eol}${eol}${value}`,
    `content-disposition : form-data; name="${name}"${eol}${eol}${value}`,
    `content-disposition: form-data;${eol} name="${name}"${eol}${eol}${value}`,
    `content-disposition: form-data; name="x"${eol}${disposition}${eol}${eol}${value}`,
    `${disposition}${eol}content-disposition: form-data; name="x"${eol}${eol}${value}`,
    `${disposition}${eol}content-type: application/json${eol}${eol}"${value}"`,
    `${disposition}${eol}content-transfer-encoding: base64${eol}${eol}${Buffer.from(value).toString('base64')}`,
    `${disposition}${eol}content-transfer-encoding: quoted-printable${eol}${eol}${value.replace('p', '=70')}`,
    `${disposition}${eol}content-type: text/plain; charset=utf-16${eol}${eol}${value}`,
    `x-a: b${eol}${disposition}${eol}x-c: d${eol}${eol}${value}`,
    `content-disposition: form-data; name="${name} "${eol}${eol}${value}`,
    `content-disposition: form-data; name="${name}\u00e9"${eol}${eol}${value}`,
    `content-disposition: form-data; name="${name}"x${eol}${eol}${value}`,
    `content-disposition: form-data; name="x;name=${name}"${eol}${eol}${value}`,
    `content-disposition: form-data; a="b;c"; name="${name}"${eol}${eol}${value}`,
    `content-disposition: form-data name="${name}"${eol}${eol}${value}`,
    `content-disposition: form-data; name = "${name}"${eol}${eol}${value}`,
    `${disposition}${eol}${eol}${value}${eol}`,
    `${eol}${value}`,
  ]);
}
