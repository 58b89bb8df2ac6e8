import type { z } from 'zod';
import type { Admin } from '../../reading/admin.ts';
import type { Reader } from '../../reading/reader.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import type { PathParameters } from '../routes.ts';
import type { Polls } from './polls.ts';

/** What the OpenAPI document says of an endpoint. */
export interface Description {
  summary: string;
  query?: z.ZodObject;
  body?: z.ZodObject;
  response: z.ZodType;
}

/** A call of an operation by a key that may make it. */
interface Call<Query = never, Body = never> {
  caller: Caller;
  /** Reads what the caller may see. */
  reader: Reader;
  admin: () => Promise<Admin>;
  polls: Polls;
  /** The daemon's clock. */
  now: () => number;
  parameters: PathParameters;
  query: Query;
  body: Body;
}

export interface Operation extends Description {
  /** Set if it needs an admin key: what does, and the command that works without one on the machine itself. */
  admin?: readonly [what: string, command: string];
  /** Parses a body whose errors need words of their own. Throws GwError 400. */
  parseBody?: (body: unknown) => unknown;
  run(call: Call): Promise<unknown>;
}

interface Typed<Query extends z.ZodObject, Body extends z.ZodObject, Response extends z.ZodType>
  extends Omit<Operation, 'run'> {
  query?: Query;
  body?: Body;
  response: Response;
  run(call: Call<z.output<Query>, z.output<Body>>): Promise<z.input<Response>>;
}

/** An operation whose function is typed by its schemas. */
export function operation<Query extends z.ZodObject, Body extends z.ZodObject, Response extends z.ZodType>(
  typed: Typed<Query, Body, Response>,
): Operation {
  // Sound, because the handler parses query and body with these schemas first.
  return typed as Operation;
}
