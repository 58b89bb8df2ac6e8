import { CLOSE_BRACE, OPEN_BRACE } from '../../json/bytes.ts';
import { applyEdits, type Edit, moved } from '../../json/edit.ts';
import { type Member, scanObject, skipSpace } from '../../json/scan.ts';

/** What the path of a request for Google's models says. */
export interface GeminiCall {
  model: string;
  isStream: boolean;
}

/**
 * Google takes each field in two spellings (https://protobuf.dev/programming-guides/json/). gw reads these in one; escapes
 * in names are gone by then.
 */
const SPELLINGS: Readonly<Record<string, string>> = {
  cached_content: 'cachedContent',
  generation_config: 'generationConfig',
  safety_settings: 'safetySettings',
  service_tier: 'serviceTier',
  system_instruction: 'systemInstruction',
  tool_config: 'toolConfig',
};
const CONFIG_SPELLINGS: Readonly<Record<string, string>> = {
  candidate_count: 'candidateCount',
  max_output_tokens: 'maxOutputTokens',
  response_json_schema: 'responseJsonSchema',
  response_mime_type: 'responseMimeType',
  response_modalities: 'responseModalities',
  response_schema: 'responseSchema',
  stop_sequences: 'stopSequences',
  thinking_config: 'thinkingConfig',
};
/**
 * The body with what its path says, as members `model` and `stream` that are removed before it is sent. A body that is no
 * object is left to the parser to refuse.
 */
export function withCall(body: Buffer, { model, isStream }: GeminiCall): Buffer {
  const start = body.indexOf(OPEN_BRACE);
  if (start < 0 || skipSpace(body, 0) !== start) return body;
  const isEmpty = body[skipSpace(body, start + 1)] === CLOSE_BRACE;
  const text = `"model":${JSON.stringify(model)},"stream":${isStream}${isEmpty ? '' : ','}`;
  return applyEdits(body, [{ start: start + 1, end: start + 1, text }]);
}

/** The edits that write the fields of a body in the spelling that gw reads. */
export function spellings(body: Buffer, members: readonly Member[]): Edit[] {
  const config = members.filter(({ key }) => (SPELLINGS[key] ?? key) === 'generationConfig');
  return [
    ...renamed(members, SPELLINGS),
    ...config.flatMap(({ start, end }) =>
      body[start] === OPEN_BRACE
        ? renamed(scanObject(body.subarray(start, end)), CONFIG_SPELLINGS).map((edit) => moved(edit, start))
        : [],
    ),
  ];
}

const renamed = (members: readonly Member[], names: Readonly<Record<string, string>>): Edit[] =>
  members.flatMap(({ key, keyStart, start }) =>
    Object.hasOwn(names, key) ? [{ start: keyStart, end: start, text: `"${names[key]}":` }] : [],
  );
