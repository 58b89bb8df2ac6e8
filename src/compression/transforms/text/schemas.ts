import { writeJson } from '../../json/read.ts';
import { findJson } from '../../json/spans.ts';

const SCHEMA = /"(?:parameters|input_schema|inputSchema|properties|function)"\s*:/;

/** Minifies the tool schemas in a system message. */
export function minifySchemas(text: string): string {
  if (!SCHEMA.test(text)) return text;
  let out = '';
  let from = 0;
  for (const span of findJson(text)) {
    const source = text.slice(span.start, span.end);
    if (span.lines || !SCHEMA.test(source)) continue;
    out += text.slice(from, span.start) + writeJson(span.value);
    from = span.end;
  }
  return out + text.slice(from);
}
