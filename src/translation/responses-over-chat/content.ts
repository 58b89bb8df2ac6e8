import { asText, definedFields, isEmpty, type Json, listAt, objectAt, textAt } from '../json.ts';
import { cannotExpress, refuseRest } from './refuse.ts';

/** Translates the content of a user's message or a tool result to content parts. */
export function contentParts(content: unknown, at: string): Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listAt(content, at).map((part, i) => contentPart(objectAt(part, `${at}[${i}]`), `${at}[${i}]`));
}

/** A single text part as a string, which other makers' models handle best. */
export function plainIfText(parts: Json[]): string | Json[] {
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? asText(only.text) : parts;
}

/** Joins text parts. Throws GwError 400 for any other part. */
export function plainText(content: unknown, at: string): string {
  if (typeof content === 'string') return content;
  return contentParts(content, at)
    .map((part, i) => {
      if (part.type !== 'text') throw cannotExpress(`${at}[${i}].type`, 'only text is allowed here');
      return part.text;
    })
    .join('\n\n');
}

function contentPart({ type, prompt_cache_breakpoint: _cache, ...part }: Json, at: string): Json {
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text': {
      const { text, annotations: _annotations, logprobs: _logprobs, ...rest } = part;
      refuseRest(rest, at);
      return { type: 'text', text: textAt(text, `${at}.text`) };
    }
    case 'input_image':
      return imagePart(part, at);
    case 'input_file':
      return filePart(part, at);
    case 'input_audio':
      return { type, ...part };
    default:
      throw cannotExpress(`${at}.type`, `there is no content of type ${asText(type)}`);
  }
}

function imagePart({ image_url, detail, file_id, ...rest }: Json, at: string): Json {
  refuseRest({ file_id, ...rest }, at);
  return {
    type: 'image_url',
    image_url: definedFields({
      url: textAt(image_url, `${at}.image_url`),
      detail: detail === 'auto' ? undefined : detail,
    }),
  };
}

function filePart({ file_data, filename, detail, ...rest }: Json, at: string): Json {
  refuseRest({ ...rest, ...(detail === 'auto' ? {} : { detail }) }, at);
  if (isEmpty(file_data)) throw cannotExpress(at, 'send the file as file_data');
  return { type: 'file', file: definedFields({ filename, file_data }) };
}
