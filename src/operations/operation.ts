import type { z } from 'zod';

/** An operation as the HTTP API and its OpenAPI document describe it. */
export interface Description {
  summary: string;
  /** Set if it needs an admin key: what does, and the command that works without one on the machine itself. */
  admin?: readonly [what: string, command: string];
  query?: z.ZodObject;
  body?: z.ZodObject;
  /** Parses a body whose errors need words of their own. Throws GwError 400. */
  parseBody?: (body: unknown) => object;
  response: z.ZodType;
}

/** Keeps the types of the schemas. */
export const describe = <Described extends Description>(description: Described): Described => description;

/** The parsed fields of a query or body; those with a default may be missing. */
type Fields<Schema> = Schema extends z.ZodObject ? Given<z.output<Schema>, z.input<Schema>> : unknown;

type Given<Output, Input> = {
  [Name in keyof Output as undefined extends Input[Name & keyof Input] ? never : Name]: Output[Name];
} & {
  [Name in keyof Output as undefined extends Input[Name & keyof Input] ? Name : never]?:
    | Output[Name]
    | undefined;
};

/** The fields of an operation's query and body, as its function takes them. */
export type Input<Described> = Fields<Described extends { query: infer Query } ? Query : undefined> &
  Fields<Described extends { body: infer Body } ? Body : undefined>;

/** The field of a path that has `{id}`. */
export type Id = { id: string };
