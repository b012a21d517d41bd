-- The database of a service that firms rent: skewed tenants, keys of type uuid, times, e-mail
-- addresses, jsonb, inet, points, a partitioned table, foreign keys, with the indexes that such
-- databases have; and the queries that it answers.  :n is how many events there are, in thousands,
-- :seed the seed.

CREATE FUNCTION r(i bigint, n int) RETURNS bigint LANGUAGE sql IMMUTABLE
    RETURN hashint8extended(i, :seed + n) & 9223372036854775807;
-- Evenly in [0, 1).
CREATE FUNCTION part(i bigint, n int) RETURNS float8 LANGUAGE sql IMMUTABLE
    RETURN (r(i, n) >> 10) / 9007199254740992.0::float8;
CREATE FUNCTION id(i bigint, n int) RETURNS uuid LANGUAGE sql IMMUTABLE
    RETURN md5(i || ' ' || n)::uuid;
-- The 2,000 tenants: a tenth of them have half of the rows.
CREATE FUNCTION tenant(i bigint, n int) RETURNS int LANGUAGE sql IMMUTABLE
    RETURN 1 + floor(2000 * part(i, n) ^ 3)::int;

CREATE TABLE tenants (id int PRIMARY KEY, slug text UNIQUE, plan text, created_at timestamptz, settings jsonb);
INSERT INTO tenants SELECT i, 'tenant-' || i, (array['free', 'team', 'firm'])[1 + r(i, 1) % 3],
    timestamptz '2024-01-01' + i * interval '6 hours', '{"theme": "dark", "seats": 5}'
FROM generate_series(1, 2000) AS i;

CREATE TABLE users (id uuid PRIMARY KEY, tenant_id int NOT NULL REFERENCES tenants, email text NOT NULL,
    name text, role text, phone text, last_ip inet, created_at timestamptz, last_seen_at timestamptz,
    external_id bigint, profile jsonb, UNIQUE (tenant_id, email));
INSERT INTO users SELECT id(i, 1), tenant(i, 2), 'user' || r(i, 3) || '@example.com',
    initcap(translate(substr(md5(i::text), 1, 6), '0123456789', 'aeioutnsrl')) || ' ' ||
        initcap(translate(substr(md5((i % 5000)::text), 1, 8), '0123456789', 'aeioutnsrl')),
    (array['member', 'admin', 'guest'])[1 + r(i, 4) % 3], '+49' || r(i, 5) % 10000000000,
    inet '10.0.0.0' + r(i, 6) % 16777216, timestamptz '2024-01-01' + i * interval '5 minutes',
    timestamptz '2026-01-01' - part(i, 7) ^ 2 * interval '700 days', r(i, 8), '{"language": "de", "beta": true}'
FROM generate_series(1, :n * 1000 / 7) AS i;

CREATE TABLE sessions (id uuid PRIMARY KEY, user_id uuid NOT NULL REFERENCES users, token text NOT NULL,
    ip inet, user_agent text, created_at timestamptz, expires_at timestamptz);
INSERT INTO sessions SELECT id(i, 2), id(1 + r(i, 10) % (:n * 1000 / 7), 1), md5(i || 'token'),
    inet '10.0.0.0' + r(i, 11) % 16777216, 'Browser/' || r(i, 12) % 300,
    timestamptz '2025-01-01' + i * interval '1 minute',
    timestamptz '2025-01-01' + i * interval '1 minute' + part(i, 13) * interval '90 days'
FROM generate_series(1, :n * 1000 / 4) AS i;

CREATE TABLE orders (id uuid PRIMARY KEY, tenant_id int NOT NULL REFERENCES tenants, user_id uuid REFERENCES users,
    order_no bigint, status text, total_cents int, currency text, placed_at timestamptz, shipped_at timestamptz,
    tracking_code text, notes text);
INSERT INTO orders SELECT id(i, 3), tenant(i, 14), id(1 + r(i, 15) % (:n * 1000 / 7), 1), r(i, 16),
    CASE WHEN r(i, 17) % 200 = 0 THEN 'open' WHEN r(i, 17) % 50 = 1 THEN 'failed' ELSE 'done' END,
    (1000000 * part(i, 18) ^ 3)::int, (array['EUR', 'USD', 'GBP'])[1 + r(i, 19) % 3],
    timestamptz '2025-01-01' + i * interval '30 seconds',
    CASE WHEN r(i, 20) % 3 > 0 THEN timestamptz '2025-01-01' + i * interval '30 seconds' + part(i, 21) * interval '20 days' END,
    CASE WHEN r(i, 22) % 3 > 0 THEN 'TRK' || r(i, 23) % 100000000000 END, repeat('x', (r(i, 24) % 60)::int)
FROM generate_series(1, :n * 1000 / 2) AS i;

CREATE TABLE order_items (order_id uuid NOT NULL REFERENCES orders, line int, product_id int, sku text, quantity int,
    price_cents int, PRIMARY KEY (order_id, line));
INSERT INTO order_items SELECT id((i + 1) / 2, 3), i % 2, r(i, 25) % 20000, 'SKU-' || lpad((r(i, 26) % 50000)::text, 6, '0'),
    1 + r(i, 27) % 9, r(i, 28) % 100000
FROM generate_series(1, :n * 1000 / 2 * 2) AS i;

CREATE TABLE devices (id uuid PRIMARY KEY, tenant_id int NOT NULL REFERENCES tenants, serial_no text, mac macaddr,
    place point, firmware text, battery numeric, last_contact timestamptz, config jsonb);
INSERT INTO devices SELECT id(i, 4), tenant(i, 29), 'SN' || r(i, 30), ('08002b' || lpad(to_hex(r(i, 31) % 16777216), 6, '0'))::macaddr,
    point(part(i, 32) * 100, part(i, 33) * 100), 'v' || r(i, 34) % 40, (r(i, 35) % 10000) / 100.0,
    timestamptz '2026-01-01' - part(i, 36) ^ 3 * interval '300 days', '{"interval": 60}'
FROM generate_series(1, :n * 1000 / 5) AS i;

CREATE TABLE events (id uuid NOT NULL, tenant_id int NOT NULL, user_id uuid, device_id uuid, kind text, ip inet,
    duration_ms int, trace_id text, at timestamptz NOT NULL, payload jsonb, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
SELECT format('CREATE TABLE events_%s PARTITION OF events FOR VALUES FROM (%L) TO (%L)', to_char(m, 'YYYY_MM'), m,
    m + interval '1 month') FROM generate_series(timestamptz '2025-07-01', '2025-12-01', '1 month') AS m \gexec
INSERT INTO events SELECT id(i, 5), tenant(i, 37), id(1 + r(i, 38) % (:n * 1000 / 7), 1), id(1 + r(i, 39) % (:n * 1000 / 5), 4),
    (array['click', 'view', 'login', 'error', 'sync'])[1 + floor(5 * part(i, 40) ^ 2)::int], inet '10.0.0.0' + r(i, 41) % 16777216,
    (100000 * part(i, 42) ^ 4)::int, md5(r(i / 3, 43)::text),
    timestamptz '2025-07-01' + i * (interval '180 days' / (:n * 1000)), '{"path": "/", "ok": true}'
FROM generate_series(1, :n * 1000) AS i;

CREATE TABLE invoices (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant_id int REFERENCES tenants, order_id uuid REFERENCES orders,
    number text UNIQUE, amount numeric, due_on date, paid_at timestamptz, iban text);
INSERT INTO invoices (tenant_id, order_id, number, amount, due_on, paid_at, iban)
SELECT tenant(i, 44), id(i, 3), 'R-' || i, (r(i, 45) % 10000000) / 100.0, date '2025-01-01' + (r(i, 46) % 400)::int,
    CASE WHEN r(i, 47) % 10 > 0 THEN timestamptz '2025-01-01' + i * interval '1 minute' + part(i, 48) * interval '30 days' END,
    'DE' || r(i, 49) % 100000000000000
FROM generate_series(1, :n * 1000 / 5) AS i;

CREATE TABLE webhook_calls (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant_id int REFERENCES tenants, event_id uuid, url text, http_status int,
    sent_at timestamptz, idempotency_key uuid, request_hash bytea);
INSERT INTO webhook_calls (tenant_id, event_id, url, http_status, sent_at, idempotency_key, request_hash)
SELECT tenant(i, 50), id(r(i, 51) % (:n * 1000), 5), 'https://hooks.example.com/' || r(i, 52) % 3000 || '/' || r(i, 53),
    CASE WHEN r(i, 54) % 100 = 0 THEN 500 ELSE 200 END, timestamptz '2025-06-01' + i * interval '40 seconds', id(i, 6),
    decode(md5(i || 'hash'), 'hex')
FROM generate_series(1, :n * 1000 / 4) AS i;

CREATE INDEX users_email ON users (lower(email));
CREATE INDEX users_name ON users (name);
CREATE INDEX users_phone ON users (phone);
CREATE INDEX users_last_ip ON users (last_ip);
CREATE INDEX users_created_at ON users (created_at);
CREATE INDEX users_last_seen_at ON users (last_seen_at);
CREATE INDEX users_external_id ON users (external_id);
CREATE INDEX users_admins ON users (tenant_id) WHERE role = 'admin';
CREATE INDEX sessions_user_id ON sessions (user_id);
CREATE INDEX sessions_token ON sessions (token);
CREATE INDEX sessions_ip ON sessions (ip);
CREATE INDEX sessions_user_agent ON sessions (user_agent);
CREATE INDEX sessions_expires_at ON sessions (expires_at);
CREATE INDEX orders_tenant_id ON orders (tenant_id);
CREATE INDEX orders_user_id ON orders (user_id);
CREATE INDEX orders_order_no ON orders (order_no);
CREATE INDEX orders_status_placed ON orders (status, placed_at);
CREATE INDEX orders_placed_at ON orders (placed_at);
CREATE INDEX orders_shipped_at ON orders (shipped_at);
CREATE INDEX orders_tracking_code ON orders (tracking_code) WHERE tracking_code IS NOT NULL;
CREATE INDEX orders_total ON orders (total_cents);
CREATE INDEX order_items_product_id ON order_items (product_id);
CREATE INDEX order_items_sku ON order_items (sku);
CREATE INDEX devices_tenant_id ON devices (tenant_id);
CREATE INDEX devices_serial_no ON devices (serial_no);
CREATE INDEX devices_mac ON devices (mac);
CREATE INDEX devices_place ON devices USING gist (place);
CREATE INDEX devices_battery ON devices (battery);
CREATE INDEX devices_last_contact ON devices (last_contact);
CREATE INDEX events_user_id ON events (user_id);
CREATE INDEX events_device_id ON events (device_id);
CREATE INDEX events_ip ON events (ip);
CREATE INDEX events_trace_id ON events (trace_id);
CREATE INDEX events_duration_ms ON events (duration_ms);
CREATE INDEX events_at ON events (at);
CREATE INDEX events_tenant_at ON events (tenant_id, at DESC);
CREATE INDEX events_kind ON events (kind);
CREATE INDEX invoices_tenant_id ON invoices (tenant_id);
CREATE INDEX invoices_order_id ON invoices (order_id);
CREATE INDEX invoices_due_on ON invoices (due_on);
CREATE INDEX invoices_paid_at ON invoices (paid_at);
CREATE INDEX invoices_amount ON invoices (amount);
CREATE INDEX invoices_iban ON invoices USING hash (iban);
CREATE INDEX webhook_calls_event_id ON webhook_calls (event_id);
CREATE INDEX webhook_calls_tenant_event ON webhook_calls (tenant_id, event_id);
CREATE INDEX webhook_calls_url ON webhook_calls (url text_pattern_ops);
CREATE INDEX webhook_calls_failed ON webhook_calls (http_status) WHERE http_status <> 200;
CREATE INDEX webhook_calls_sent_at ON webhook_calls (sent_at);
CREATE INDEX webhook_calls_idempotency_key ON webhook_calls (idempotency_key);
CREATE INDEX webhook_calls_request_hash ON webhook_calls (request_hash);
VACUUM ANALYZE;

CREATE TABLE queries (number int GENERATED ALWAYS AS IDENTITY, q text);
INSERT INTO queries (q) VALUES
    ('SELECT * FROM users WHERE lower(email) = lower(''user'' || r(777, 3) || ''@example.com'')'),
    ('SELECT id, name FROM users WHERE name = (SELECT name FROM users WHERE id = id(999, 1))'),
    ('SELECT * FROM users WHERE phone = ''+49'' || r(4711, 5) % 10000000000'),
    ('SELECT id, email FROM users WHERE last_ip << inet ''10.77.7.0/24'''),
    ('SELECT id, email FROM users ORDER BY created_at DESC LIMIT 25'),
    ('SELECT max(last_seen_at) FROM users'),
    ('SELECT id, email FROM users WHERE last_seen_at >= timestamptz ''2026-01-01'' - interval ''20 hours'''),
    ('SELECT * FROM users WHERE external_id = r(1234, 8)'),
    ('SELECT id, email FROM users WHERE role = ''admin'' AND tenant_id = 1500'),
    ('SELECT * FROM sessions WHERE user_id = id(321, 1)'),
    ('SELECT u.email, s.created_at FROM sessions AS s JOIN users AS u ON u.id = s.user_id WHERE s.token = md5(''900token'')'),
    ('SELECT id FROM sessions WHERE ip = inet ''10.0.0.0'' + r(555, 11) % 16777216'),
    ('SELECT id, user_id FROM sessions WHERE user_agent = ''Browser/17'''),
    ('SELECT id FROM sessions WHERE expires_at < timestamptz ''2025-02-01'' ORDER BY expires_at LIMIT 100'),
    ('SELECT id, total_cents FROM orders WHERE tenant_id = 1700'),
    ('SELECT sum(total_cents) FROM orders WHERE user_id = id(654, 1)'),
    ('SELECT * FROM orders WHERE order_no = r(2345, 16)'),
    ('SELECT * FROM orders WHERE order_no IN (r(1, 16), r(22, 16), r(333, 16), r(4444, 16), 5, 6, 7)'),
    ('SELECT id FROM orders WHERE status = ''open'' ORDER BY placed_at LIMIT 50'),
    ('SELECT count(total_cents) FROM orders WHERE placed_at >= ''2025-01-10'' AND placed_at < ''2025-01-11'''),
    ('SELECT count(total_cents) FROM orders WHERE shipped_at >= ''2025-01-15'' AND shipped_at < ''2025-01-15 01:00'''),
    ('SELECT id, status FROM orders WHERE tracking_code = ''TRK'' || r(44, 23) % 100000000000'),
    ('SELECT id, total_cents FROM orders WHERE total_cents > 999000'),
    ('SELECT count(price_cents) FROM order_items WHERE product_id = 777'),
    ('SELECT count(price_cents) FROM order_items WHERE sku = ''SKU-001234'''),
    ('SELECT o.id, i.sku FROM orders AS o JOIN order_items AS i ON i.order_id = o.id WHERE o.user_id = id(99, 1)'),
    ('SELECT id, firmware FROM devices WHERE tenant_id = 1300'),
    ('SELECT * FROM devices WHERE serial_no = ''SN'' || r(808, 30)'),
    ('SELECT * FROM devices WHERE mac = (SELECT mac FROM devices WHERE id = id(77, 4))'),
    ('SELECT id FROM devices ORDER BY place <-> point ''(50,50)'' LIMIT 5'),
    ('SELECT id FROM devices WHERE place <@ box ''(20,20),(21,21)'''),
    ('SELECT id, last_contact FROM devices WHERE last_contact < ''2025-06-01'' ORDER BY last_contact LIMIT 100'),
    ('SELECT id, battery FROM devices WHERE battery BETWEEN 5 AND 5.1'),
    ('SELECT id, kind FROM events WHERE user_id = id(123, 1)'),
    ('SELECT id, kind FROM events WHERE device_id = id(456, 4) AND at >= ''2025-11-01'''),
    ('SELECT id, kind FROM events WHERE ip = inet ''10.0.0.0'' + r(9000, 41) % 16777216'),
    ('SELECT id, at FROM events WHERE trace_id = md5(r(1000, 43)::text)'),
    ('SELECT duration_ms, payload FROM events ORDER BY duration_ms DESC LIMIT 10'),
    ('SELECT id, kind FROM events WHERE tenant_id = 1900 ORDER BY at DESC LIMIT 20'),
    ('SELECT count(payload) FROM events WHERE at >= ''2025-09-10'' AND at < ''2025-09-10 03:00'''),
    ('SELECT id FROM invoices WHERE tenant_id = 1600 AND due_on < ''2025-03-01'''),
    ('SELECT * FROM invoices WHERE order_id = id(3210, 3)'),
    ('SELECT count(amount) FROM invoices WHERE due_on = ''2025-05-05'''),
    ('SELECT id FROM invoices WHERE amount = (SELECT amount FROM invoices WHERE number = ''R-500'')'),
    ('SELECT id FROM invoices WHERE iban = ''DE'' || r(600, 49) % 100000000000000'),
    ('SELECT id, url FROM webhook_calls WHERE event_id = id(r(700, 51) % (SELECT count(*) FROM events), 5)'),
    ('SELECT id FROM webhook_calls WHERE tenant_id = tenant(800, 50) AND event_id = id(r(800, 51) % (SELECT count(*) FROM events), 5)'),
    ('SELECT id FROM webhook_calls WHERE url LIKE ''https://hooks.example.com/77/%'''),
    ('SELECT id, url FROM webhook_calls WHERE idempotency_key = id(4000, 6)'),
    ('SELECT id FROM webhook_calls WHERE request_hash = decode(md5(''5000hash''), ''hex'')');

-- Processor time of this process, in ns.
CREATE FUNCTION cpu_ns() RETURNS bigint LANGUAGE sql VOLATILE AS
    $$ SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint $$;
CREATE TABLE measured (step text, number int, us float8, answer text, uses text, PRIMARY KEY (step, number));
CREATE TABLE advice (number int GENERATED ALWAYS AS IDENTITY, step text, index text, verdict text, size bigint,
    told bigint, reason text, ddl text, made bigint);

-- The best of nine rounds over all queries, in each as many as take 5 ms.
CREATE PROCEDURE measure(step text) LANGUAGE plpgsql AS $$
DECLARE
    s record;
    began bigint;
    spent bigint;
    n int;
BEGIN
    FOR s IN SELECT number, q FROM queries ORDER BY number LOOP
        EXECUTE format('INSERT INTO measured SELECT %L, %s, ''infinity'', count(*) || '' '' ||
            coalesce(sum(hashtextextended(a::text, 0)), 0), bench_choice(%L) FROM (%s) AS a', step, s.number, s.q, s.q);
    END LOOP;
    FOR round IN 1 .. 9 LOOP
        FOR s IN SELECT number, q FROM queries ORDER BY number LOOP
            n := 0;
            began := cpu_ns();
            LOOP
                EXECUTE s.q;
                n := n + 1;
                IF n % 10 = 1 THEN
                    spent := cpu_ns() - began;
                    EXIT WHEN spent > 5000000;
                END IF;
            END LOOP;
            UPDATE measured AS m SET us = least(us, spent / 1000.0 / n)
            WHERE m.step = measure.step AND m.number = s.number;
        END LOOP;
    END LOOP;
END $$;
