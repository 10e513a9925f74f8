import { createHash } from 'node:crypto';
import type { Compilable, CompiledQuery, RootOperationNode } from 'kysely';
import type { LedgerTransaction } from './schema.ts';

/** Stands for a value that is given when the statement runs. */
class Placeholder {
  readonly name: PropertyKey;

  constructor(name: PropertyKey) {
    this.name = name;
  }
}

/** The names of statements that a database may keep parsed, by what they were compiled from. */
const names = new WeakMap<RootOperationNode, string>();

/** The name under which a database may keep a statement parsed: the same name is always the same text. Not every one has it. */
export function statementName({ query }: CompiledQuery): string | undefined {
  return names.get(query);
}

/** A statement that is compiled once for each ledger, for what runs so often that compiling it each time would show. */
export interface PreparedStatement<Values, Row> {
  run(trx: LedgerTransaction, values: Values): Promise<readonly Row[]>;
}

/** What stands for a value while a statement is built. */
type Param<Values> = <Name extends keyof Values>(name: Name) => Values[Name];

/**
 * Begins a statement whose values are these: `prepared<Values>().as((db, param) => …)`. `kept`: a database may keep it parsed in
 * each connection; not for statements of which there are many.
 */
export function prepared<Values extends object>({ kept = true } = {}): {
  as<Row>(
    build: (db: LedgerTransaction, param: Param<Values>) => Compilable<Row>,
  ): PreparedStatement<Values, Row>;
} {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Kysely passes values on as they are, and `run` replaces it
  const param: Param<Values> = (name) => new Placeholder(name) as Values[typeof name];
  return {
    as<Row>(build: (db: LedgerTransaction, param: Param<Values>) => Compilable<Row>) {
      // Each Kysely instance has an adapter of its own.
      const compiled = new WeakMap<object, CompiledQuery<Row>>();
      return {
        async run(trx, values) {
          const { adapter } = trx.getExecutor();
          let statement = compiled.get(adapter);
          if (statement === undefined) {
            statement = build(trx, param).compile();
            compiled.set(adapter, statement);
            if (kept) names.set(statement.query, nameOf(statement.sql));
          }
          const parameters = statement.parameters.map((parameter): unknown =>
            parameter instanceof Placeholder ? Reflect.get(values, parameter.name) : parameter,
          );
          return (await trx.executeQuery<Row>({ ...statement, parameters })).rows;
        },
      };
    },
  };
}

function nameOf(sql: string): string {
  return `holdfast_${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`;
}
