import { isEmpty, type Json } from './json.ts';

/** Notes a field of the client's request that the translated request lacks. */
export type LeaveOut = (param: string) => void;

/** Collects the fields that a translation left out, those of a list as one: `messages[].name`, `tools[] (web_search)`. */
export interface LeftOut {
  leaveOut: LeaveOut;
  fields(): string[];
}

export function createLeftOut(): LeftOut {
  const fields = new Set<string>();
  return {
    leaveOut: (param) => void fields.add(param.replace(/\[\d+\]/g, '[]')),
    fields: () => [...fields],
  };
}

/** The fields of the object at `at` without those of `names`. Each of these that has a value is noted. */
export function without(fields: Json, names: readonly string[], at: string, leaveOut: LeaveOut): Json {
  const rest = { ...fields };
  for (const name of names) {
    if (!isEmpty(rest[name]) && rest[name] !== false) leaveOut(`${at}.${name}`);
    delete rest[name];
  }
  return rest;
}
