-- How the files were made: base runs, matrices and deltas, a pending list, late rows, a reading that was
-- given up, samples, coders.
SELECT fill_runs(1, 9000);
REINDEX TABLE runs;
SELECT change_runs(1);
VACUUM runs;
SELECT fill_runs(9001, 12400);
SELECT rencoder_maintain_index(i) FROM unnest('{runs_all,runs_auto}'::regclass[]) i;
VACUUM runs;
SELECT change_runs(k) FROM generate_series(2, 4) k;
SELECT rencoder_maintain_index(i) FROM unnest('{runs_all,runs_auto}'::regclass[]) i;
SELECT fill_runs(12401, 12600);
SELECT rencoder_maintain_index(i) FROM unnest('{runs_all,runs_auto}'::regclass[]) i;
SELECT rencoder_compact('runs_all', 100, 120);
SELECT change_runs(5);
SELECT fill_runs(12601, 12850);

SELECT fill_tenants(1, 4000);
REINDEX TABLE tenants;
UPDATE tenants SET tenant = tenant + 1 WHERE id % 31 = 3;
SELECT fill_tenants(4001, 5000);
SELECT rencoder_maintain_index('tenants_key');
SELECT fill_tenants(5001, 5060);
UPDATE tenants SET code = code || 'x' WHERE id % 37 = 4;

SELECT fill_types(1, 900);
REINDEX TABLE types;
UPDATE types SET c_int4 = c_int4 + 1 WHERE id % 19 = 3;
SELECT fill_types(901, 1000);
SELECT rencoder_maintain_index('types_all');
SELECT fill_types(1001, 1020);

SELECT fill_filters(1, 1800);
REINDEX TABLE filters;
SELECT rencoder_add_query_sample('filters_v', 17, 19);
SELECT rencoder_add_query_sample('filters_p', point(1, 1), point(2, 2));
SELECT fill_filters(1801, 2400);
SELECT rencoder_maintain_index(i)
FROM unnest('{filters_v,filters_few,filters_s,filters_p,filters_ip,filters_n}'::regclass[]) i;
UPDATE filters SET v = v + 1, s = s || 'x' WHERE id % 10 = 3;
DELETE FROM filters WHERE id % 10 = 4;
SELECT fill_filters(2401, 2600);
SELECT rencoder_maintain_index('filters_s');
-- From here on this index is of both kinds.
ALTER INDEX filters_few SET (storage = run);
SELECT rencoder_compact('filters_few', 20, 40);
DO $$
BEGIN
	PERFORM set_config('format.fail', 'yes', false);
	PERFORM rencoder_maintain_index('filters_n');
EXCEPTION WHEN raise_exception THEN
	NULL;
END $$;
