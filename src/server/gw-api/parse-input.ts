import type { z } from 'zod';
import { badRequest, type GwError } from '../../errors.ts';

/** Parses a query or body. Throws GwError 400 that names the parameter and its value. */
export function parseInput(schema: z.ZodObject, input: unknown, kind: 'parameter' | 'field'): unknown {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const { issues } = result.error;
  // First, as a misspelt name is often the reason why another is missing.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  throw issue ? explain(issue, schema, input, kind) : badRequest('the request is not valid');
}

function explain(issue: z.core.$ZodIssue, schema: z.ZodObject, input: unknown, kind: string): GwError {
  const names = Object.keys(schema.shape).join(', ');
  if (issue.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    const known = names === '' ? 'there are none here' : `use ${names}`;
    return badRequest(`unknown ${kind} "${key}": ${known}`, key, `unknown_${kind}`);
  }
  const name = String(issue.path[0] ?? '');
  if (name === '') return badRequest(`the request body must be a JSON object with ${names}`);
  const value = (input as Record<string, unknown>)[name];
  if (value === undefined) return badRequest(`${kind} "${name}" is missing`, name, `missing_${kind}`);
  return badRequest(`"${name}" is ${JSON.stringify(value).slice(0, 100)}: ${issue.message}`, name);
}
