import { readValue, scanObject } from '../../json/scan.ts';

const USAGE = Buffer.from('"usage"');

/** The top-level `usage` of an answer; undefined where there is none or the answer is no JSON object. */
export function usageMember(answer: Buffer): unknown {
  if (answer.indexOf(USAGE) < 0) return undefined;
  try {
    const member = scanObject(answer).find(({ key }) => key === 'usage');
    return member && readValue(answer, member);
  } catch {
    return undefined;
  }
}
