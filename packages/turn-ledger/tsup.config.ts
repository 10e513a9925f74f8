import { library } from '../../tsup.base.ts';

export default library({
  entry: ['src/index.ts', 'src/database/postgres/postgres-url.ts', 'src/database/sqlite/load-node-sqlite.ts'],
});
