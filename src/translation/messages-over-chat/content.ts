import { asText, isEmpty, type Json, listAt, objectAt, textAt } from '../json.ts';
import { cannotExpress, refuseRest } from './refuse.ts';

/** The fields of a block without `cache_control`: providers with OpenAI's API decide themselves what to cache. */
export function blockAt(value: unknown, at: string): Json {
  const { cache_control: _cache, ...block } = objectAt(value, at);
  return block;
}

/** Joins text blocks. Throws GwError 400 for any other block. */
export function plainText(content: unknown, at: string): string {
  if (typeof content === 'string') return content;
  const texts = listAt(content, at).map((each, i) => {
    const { type, text, ...rest } = blockAt(each, `${at}[${i}]`);
    if (type !== 'text') throw cannotExpress(`${at}[${i}].type`, 'only text is allowed here');
    refuseRest(rest, `${at}[${i}]`);
    return textAt(text, `${at}[${i}].text`);
  });
  return texts.join('\n\n');
}

/** Translates a block of a user's turn to a content part. */
export function contentPart({ type, ...block }: Json, at: string): Json {
  switch (type) {
    case 'text':
      refuseRest({ ...block, text: undefined }, at);
      return { type, text: textAt(block.text, `${at}.text`) };
    case 'image':
      refuseRest({ ...block, source: undefined }, at);
      return { type: 'image_url', image_url: { url: urlOf(block.source, `${at}.source`) } };
    case 'document':
      return documentPart(block, at);
    default:
      throw cannotExpress(`${at}.type`, `there is no content of type ${asText(type)}`);
  }
}

function urlOf(value: unknown, at: string): string {
  const source = objectAt(value, at);
  if (source.type === 'url') return textAt(source.url, `${at}.url`);
  if (source.type === 'base64')
    return `data:${source.media_type};base64,${textAt(source.data, `${at}.data`)}`;
  throw cannotExpress(`${at}.type`, 'use url or base64');
}

function documentPart({ source: value, title, citations, ...rest }: Json, at: string): Json {
  refuseRest(rest, at);
  const wantsCitations = !isEmpty(citations) && objectAt(citations, `${at}.citations`).enabled !== false;
  if (wantsCitations) throw cannotExpress(`${at}.citations`);
  const source = objectAt(value, `${at}.source`);
  if (source.type === 'text') return { type: 'text', text: textAt(source.data, `${at}.source.data`) };
  if (source.type !== 'base64') throw cannotExpress(`${at}.source.type`, 'use text or base64');
  const filename = typeof title === 'string' ? title : 'document.pdf';
  return { type: 'file', file: { filename, file_data: urlOf(source, `${at}.source`) } };
}
