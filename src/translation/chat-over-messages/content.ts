import { badRequest } from '../../errors.ts';
import { asText, definedFields, type Json, listAt, objectAt, textAt } from '../json.ts';
import { cannotExpress, refuseRest } from './refuse.ts';

/** Content of a system message, which is text only. */
export function textBlocks(content: unknown, at: string): Json[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return listAt(content, at).map((part, i) => textBlock(objectAt(part, `${at}[${i}]`), `${at}[${i}]`));
}

/** Content of a user message or a tool result: text, images and files. */
export function inputBlocks(content: unknown, at: string): Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listAt(content, at).map((part, i) => inputBlock(objectAt(part, `${at}[${i}]`), `${at}[${i}]`));
}

function inputBlock(part: Json, at: string): Json {
  switch (part.type) {
    case 'image_url':
      return imageBlock(part, at);
    case 'file':
      return fileBlock(part, at);
    default:
      return textBlock(part, at);
  }
}

function textBlock(part: Json, at: string): Json {
  const { type, text, cache_control, ...rest } = part;
  if (type !== 'text') throw cannotExpress(`${at}.type`, `there is no content of type ${asText(type)}`);
  refuseRest(rest, at);
  return definedFields({ type, text: textAt(text, `${at}.text`), cache_control });
}

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.-]+)*;base64,/;

function imageBlock({ type: _type, image_url, cache_control, ...rest }: Json, at: string): Json {
  const { url, detail, ...more } = objectAt(image_url, `${at}.image_url`);
  refuseRest(rest, at);
  refuseRest(more, `${at}.image_url`);
  if (detail === 'low') throw cannotExpress(`${at}.image_url.detail`, 'all images are read in full');
  return definedFields({
    type: 'image',
    source: sourceOf(textAt(url, `${at}.image_url.url`), `${at}.image_url.url`),
    cache_control,
  });
}

function sourceOf(url: string, at: string): Json {
  const media = DATA_URL.exec(url);
  if (media) return { type: 'base64', media_type: media[1], data: url.slice(media[0].length) };
  if (/^https?:\/\//.test(url)) return { type: 'url', url };
  throw badRequest(`"${at}" must be an http(s) or a base64 data URL`, at, 'invalid_value');
}

function fileBlock({ type: _type, file, cache_control, ...rest }: Json, at: string): Json {
  const { filename, file_data, file_id, ...more } = objectAt(file, `${at}.file`);
  refuseRest(rest, at);
  refuseRest({ ...more, file_id }, `${at}.file`);
  const data = textAt(file_data, `${at}.file.file_data`);
  const source = sourceOf(
    DATA_URL.test(data) ? data : `data:application/pdf;base64,${data}`,
    `${at}.file.file_data`,
  );
  return definedFields({ type: 'document', source, title: filename, cache_control });
}
