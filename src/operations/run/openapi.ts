import { z } from 'zod';
import { VERSION } from '../../version.ts';
import type { Description } from '../operation.ts';
import { EARLIER } from '../schemas/earlier.ts';

type Json = Record<string, unknown>;

/** What the registry says of gw's endpoints. */
interface Api {
  routes: readonly string[];
  described: Readonly<Record<string, Description>>;
  /** The status of a success. */
  statusOf: (route: string) => number;
}

const ERROR = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
  }),
});

/**
 * The OpenAPI 3.1 document of gw's own endpoints: https://spec.openapis.org/oas/v3.1.0. Its version is gw's. Within a
 * major version, answers only gain fields.
 */
export function openapi({ routes, described, statusOf }: Api): Json {
  const paths: Record<string, Json> = {};
  const all = { ...described, ...EARLIER };
  for (const route of routes) {
    const [method = '', path = ''] = route.split(' ');
    const description = all[route];
    if (!description) throw new Error(`${route} has no description`);
    const operation = operationOf(route, description, statusOf(route));
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'gw',
      version: VERSION,
      description:
        "gw's own endpoints. A project key sees its own project, an admin key all. Answers may gain fields.",
    },
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      schemas: { error: schemaOf(ERROR) },
    },
  };
}

function operationOf(route: string, { summary, query, body, response }: Description, status: number): Json {
  const names = [...route.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return {
    summary,
    parameters: [
      ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...(query ? queryParameters(query) : []),
    ],
    ...(body ? { requestBody: { required: true, content: jsonOf(schemaOf(body)) } } : {}),
    responses: {
      [status]: { description: 'ok', content: jsonOf(schemaOf(response)) },
      default: { description: 'error', content: jsonOf({ $ref: '#/components/schemas/error' }) },
    },
  };
}

function queryParameters(query: z.ZodObject): Json[] {
  const { properties = {}, required = [] } = schemaOf(query) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

/** As an input, an object may have other fields too: an answer of a later version is still valid. */
function schemaOf(schema: z.ZodType): Json {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return rest;
}

const jsonOf = (schema: Json) => ({ 'application/json': { schema } });
